/**
 * `pawl doctor [ID] [--repair] [--json]`: what is wrong with a store or a session, one clear line each. Nothing is changed
 * without --repair.
 */
import { checkSession, type Finding, isPawlError, type Runtime, type SessionCheckup } from "@pawl/core";
import { checkFolder, checkStoreBlobs, sessionIds, sweep } from "@pawl/core/node";
import { addressOf } from "./address.ts";
import { exitOfError, lawBroken } from "./exit.ts";
import { openStore, serverOptions, waited } from "./open-store.ts";
import { type StoreLocation, storeFolder, storeLocation } from "./place.ts";
import { printable, type Tone, toned } from "./style.ts";

export interface DoctorOptions {
  store?: string;
  json?: boolean;
  repair?: boolean;
}

const out = process.stdout;
const tones: Record<Finding["severity"], Tone> = { good: "good", note: "warn", wrong: "bad" };
const signs: Record<Finding["severity"], string> = { good: "✓", note: "!", wrong: "✗" };
/** What `exit.ts` says of a damaged record or database. */
const damaged = exitOfError({ name: "PawlError", code: "CORRUPT" });

/** 0: nothing is wrong, or everything that was is mended. */
export async function runDoctor(id: string | undefined, options: DoctorOptions): Promise<number> {
  const dir = storeFolder(options.store);
  const repair = options.repair === true;
  const report = new Report(options);
  const location = storeLocation(options.store);
  const { findings, usable } =
    location.kind === "folder" ? await checkFolder(dir, { now: Date.now(), repair }) : await checkServer(location);
  report.add(findings);
  if (usable) await examine(options.store, id, report, repair);
  return report.end();
}

/** Disk, files and indexes of a server are its operator's. Fails with STORE_UNAVAILABLE where it cannot be reached. */
async function checkServer(location: Extract<StoreLocation, { kind: "postgres" }>) {
  const { schemaFormat } = await import("@pawl/postgres");
  const { found, needed } = await waited(location, schemaFormat(serverOptions(location)));
  const usable = found === needed;
  const what = `PostgreSQL at ${location.host} answers; schema ${location.schema} has format ${found}`;
  const remedy = found < needed ? "pawl migrate brings it there" : "a newer pawl made it; update this one";
  const finding: Finding = usable
    ? { severity: "good", what }
    : { severity: "wrong", what: `${what}, this pawl needs ${needed}: ${remedy}` };
  return { findings: [finding], usable };
}

async function examine(
  given: string | undefined,
  id: string | undefined,
  report: Report,
  repair: boolean,
): Promise<void> {
  const runtime = await openStore(given);
  try {
    report.add(runtime.warnings.map((what) => ({ severity: "note", what })));
    if (id !== undefined) {
      const session = await addressOf(runtime, id);
      return report.addSession(await checkSession(runtime, session, { repair }));
    }
    let whole = true;
    for await (const session of sessionIds(runtime.store)) {
      const checkup = await checkOne(runtime, session, repair);
      whole &&= checkup.findings.every(({ severity }) => severity !== "wrong");
      report.addSession(checkup);
    }
    const location = storeLocation(given);
    // Of a server they are rows, which nothing tears.
    if (location.kind === "folder")
      report.add(await checkStoreBlobs({ ...runtime, dir: location.dir }, { repair, whole }));
    if (repair) await sweep(runtime.store);
  } finally {
    await runtime.store.close();
  }
}

/** One that is being driven, or needs a newer version, keeps nobody from mending the others. */
async function checkOne(runtime: Runtime, session: string, repair: boolean): Promise<SessionCheckup> {
  try {
    return await checkSession(runtime, session, { repair });
  } catch (error) {
    if (!isPawlError(error)) throw error;
    return { session, findings: [{ severity: "wrong", what: error.message }], holes: [], verdicts: [] };
  }
}

class Report {
  readonly #json: boolean;
  readonly #repair: boolean;
  #damage = false;
  #lawBroken = false;
  #remedies = 0;

  constructor({ json, repair }: DoctorOptions) {
    this.#json = json === true;
    this.#repair = repair === true;
  }

  add(findings: readonly Finding[], session?: string): void {
    for (const finding of findings) {
      const { severity, remedy, done } = finding;
      if (severity === "wrong" && !done) this.#damage = true;
      if (remedy !== undefined && !done) this.#remedies += 1;
      this.#print(finding, session);
    }
  }

  addSession({ session, findings, holes, verdicts }: SessionCheckup): void {
    const broken = verdicts.some(({ violations }) => violations.length > 0);
    const mended = findings.every(
      ({ severity, remedy, done }) => severity !== "wrong" || (remedy !== undefined && done),
    );
    this.add(findings, session);
    // A law that is broken without a hole is no damage of the store.
    if (broken && holes.length === 0) this.#lawBroken = true;
    else if (!mended) this.#damage = true;
  }

  #print(finding: Finding, session: string | undefined): void {
    if (this.#json) {
      out.write(`${JSON.stringify({ ...(session !== undefined && { session }), ...finding })}\n`);
      return;
    }
    const { severity, what, remedy, done } = finding;
    const about = session === undefined || what.includes(session) ? "" : `session ${session}: `;
    const words = remedy === undefined ? "" : done ? ` (done: ${remedy})` : ` (--repair would ${remedy})`;
    const line = `${signs[severity]} ${about}${printable(what).replaceAll("\n", " ")}${words}`;
    out.write(`${toned(done ? "good" : tones[severity], line, out)}\n`);
  }

  end(): number {
    if (this.#remedies > 0 && !this.#repair && !this.#json)
      out.write("nothing was changed; pawl doctor --repair does what is said above\n");
    if (this.#damage) return damaged;
    return this.#lawBroken ? lawBroken : 0;
  }
}
