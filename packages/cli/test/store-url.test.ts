/** Stores as people write them: what a URL means, what of it is shown, and what a machine calls what stands beside it. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { PawlError } from "@pawl/core";
import fc from "fast-check";
import { maskedUrls } from "../src/masked-url.ts";
import { isStoreUrl, serverStore } from "../src/store-url.ts";
import { CommandArchive, ofManyMachines } from "../src/tools/command-archive.ts";

test("what is ours leaves the URL, what is the server's stays", () => {
  const { url, schema, mode, connections, host } = serverStore(
    "postgres://u:p@db.example:6543/agents?schema=team_a&mode=pooled&connections=3&sslmode=require",
  );
  assert.equal(url, "postgres://u:p@db.example:6543/agents?sslmode=require");
  assert.deepEqual([schema, mode, connections, host], ["team_a", "pooled", 3, "db.example:6543"]);
  const plain = serverStore("postgresql://db.example/agents");
  assert.deepEqual(
    [plain.schema, plain.mode, plain.connections, plain.host],
    ["pawl", "own", undefined, "db.example:5432"],
  );
});

test("a parameter that nobody knows is refused with what was meant; what PostgreSQL's clients take is not", () => {
  const refused = (query: string) => {
    try {
      serverStore(`postgres://u:pw@h/d?${query}`);
    } catch (error) {
      assert.equal((error as PawlError).code, "INVALID_INPUT");
      return (error as PawlError).message;
    }
    throw new Error(`${query} was taken`);
  };
  assert.match(
    refused("shema=x"),
    /--store postgres:\/\/u:\*\*\*@h\/d: it knows no parameter shema; did you mean schema\?/,
  );
  assert.match(refused("sslmode=require&Mode=pooled"), /no parameter Mode; did you mean mode\?/);
  assert.match(refused("ssl_mode=require"), /no parameter ssl_mode; did you mean sslmode\?/);
  assert.match(refused("pool=3"), /no parameter pool; .*schema, mode, connections/);
  const told = [refused("passwrod=geheim"), refused("geheim@h/d")];
  for (const words of told) assert.ok(!words.includes("geheim"), words);
  const taken = [
    "sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k&sslnegotiation=direct&uselibpqcompat=true&ssl=true",
    "application_name=a&fallback_application_name=b&options=-c%20x%3D1&client_encoding=utf8&replication=x&binary=1",
    "statement_timeout=1&lock_timeout=1&idle_in_transaction_session_timeout=1&query_timeout=1",
    "host=/run/postgresql&port=1&user=u&password=p&keepalives=1&keepalives_idle=1&connect_timeout=1",
    "sslmode=require&channel_binding=require",
  ];
  for (const query of taken) {
    const { url } = serverStore(`postgres://h/d?${query}`);
    assert.deepEqual([...new URL(url).searchParams], [...new URLSearchParams(query)]);
  }
});

test("what stands beside a store is found again under another user and password, and is no other store's", () => {
  const key = (word: string) => serverStore(word).key;
  assert.equal(key("postgres://a:one@h/d"), key("postgresql://b:two@h:5432/d?mode=pooled"));
  const others = ["postgres://h/e", "postgres://i/d", "postgres://h:1/d", "postgres://h/d?schema=x"].map(key);
  assert.equal(new Set([...others, key("postgres://h/d")]).size, 5);
  for (const each of others) assert.match(each, /^[^/]+$/);
});

test("a folder is a folder, whatever it is called", () => {
  for (const folder of ["store", "/srv/store", "~/x", "postgres", "postgres:/x", "C:"])
    assert.equal(isStoreUrl(folder), false);
  assert.throws(() => serverStore("https://u:pw@h/d"), { code: "INVALID_INPUT", message: /https:\/\/u:\*\*\*@h/ });
});

test("no password is shown, however it is made up, wherever the URL stands in a text", () => {
  const secret = fc.string({ minLength: 9, maxLength: 30 }).filter((text) => !/[\s'"]/.test(text));
  fc.assert(
    fc.property(secret, fc.constantFrom("", "cannot reach ", 'see "'), (password, before) => {
      const shown = maskedUrls(`${before}postgres://user:${password}@host/db and more`);
      assert.ok(!shown.includes(password), shown);
      assert.ok(shown.endsWith("@host/db and more"));
    }),
  );
  assert.equal(maskedUrls("postgres://h/d?user=u&password=geheim&x=1"), "postgres://h/d?user=u&password=***&x=1");
  assert.equal(maskedUrls("http://127.0.0.1:11434/v1 and me@home"), "http://127.0.0.1:11434/v1 and me@home");
});

test("L4: beside a store that other machines use, a command without a folder is not known not to have run", async (t) => {
  const beside = mkdtempSync(join(tmpdir(), "pawl-beside-"));
  t.after(() => rmSync(beside, { recursive: true }));
  const dir = join(beside, "commands");
  const alone = new CommandArchive(dir);
  const enteredAt = Date.now() + 1_000;
  assert.ok(await alone.find("call_alone", enteredAt), "alone a missing folder is a proof");
  ofManyMachines(beside);
  ofManyMachines(beside);
  assert.equal(readdirSync(dir).filter((name) => name.startsWith("since-")).length, 2);
  assert.equal(await new CommandArchive(dir).find("call_elsewhere", enteredAt), undefined);
  assert.ok(await new CommandArchive(dir).find("call_alone", enteredAt), "one that is there still tells");
});
