/** Where a path leads, name by name and link by link, as the file tools go it (see workspace): also where its end is not there yet. */
import { readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { linksPerPath } from "./workspace.ts";

export function realPath(cwd: string, path: string): string {
  const todo = path.split("/").reverse();
  let here = path.startsWith("/") ? "/" : cwd;
  let links = 0;
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (name === "" || name === ".") continue;
    const next = name === ".." ? dirname(here) : join(here, name);
    const target = name === ".." || links >= linksPerPath ? undefined : linkTarget(next);
    if (target === undefined) here = next;
    else {
      links += 1;
      if (target.startsWith("/")) here = "/";
      todo.push(...target.split("/").reverse());
    }
  }
  return here;
}

/** Undefined for what is no link, or is not there. */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
