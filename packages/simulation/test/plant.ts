/**
 * Plants one fault in a source file of core as it is loaded: `node --import ./plant.ts`, with PLANT as JSON. The file on disk
 * stays as it is.
 */
import { registerHooks } from "node:module";

export interface Plant {
  /** Of core, below `src/`. */
  file: string;
  find: string;
  put: string;
}

const { PLANT } = process.env;
if (PLANT) {
  const { file, find, put } = JSON.parse(PLANT) as Plant;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(`/packages/core/src/${file}`)) return loaded;
      const source = String(loaded.source);
      if (source.split(find).length !== 2) throw new Error(`${file} has ${JSON.stringify(find)} not exactly once`);
      return { ...loaded, source: source.replace(find, () => put) };
    },
  });
}
