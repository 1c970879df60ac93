import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { APICallError } from "@ai-sdk/provider";
import { PROTOCOLS, type Protocol, startModelServer } from "../src/index.ts";
import { HELLO, modelOf, read, serving } from "./provider.ts";

describe("the server beside its script", () => {
  it("answers health and models", async () => {
    await serving({ script: [], models: ["a", "b"] }, async (server) => {
      assert.deepEqual(await (await fetch(`${server.url}/health`)).json(), { status: "ok" });
      const models = await (await fetch(`${server.url}/v1/models`)).json();
      assert.deepEqual(
        (models as { data: { id: string }[] }).data.map(({ id }) => id),
        ["a", "b"],
      );
      assert.equal(server.requests.length, 0);
    });
  });

  it("answers another path with 404 and the paths it knows", async () => {
    await serving({ script: [] }, async (server) => {
      const response = await fetch(`${server.url}/v1/completions`, { method: "POST", body: "{}" });
      assert.equal(response.status, 404);
      assert.match(
        await response.text(),
        /Unknown request URL: POST \/v1\/completions\. Known: POST \/v1\/chat\/completions/,
      );
    });
  });

  for (const protocol of PROTOCOLS) {
    it(`${protocol}: lets in only its key`, async () => {
      await serving({ script: [[{ text: "x" }]], apiKey: "right" }, async (server) => {
        const { thrown } = await read(modelOf(server, protocol, "wrong"));
        assert.ok(APICallError.isInstance(thrown));
        assert.equal(thrown.statusCode, 401);
        const words = protocol === "anthropic" ? /invalid x-api-key/ : /Incorrect API key provided: wr\*\*\*/;
        assert.match(thrown.message, words);
        assert.equal((await read(modelOf(server, protocol, "right"))).thrown, undefined);
      });
    });

    it(`${protocol}: refuses a body that is no JSON`, async () => {
      const paths: Record<Protocol, string> = {
        chat: "/chat/completions",
        responses: "/responses",
        anthropic: "/messages",
      };
      await serving({ script: [] }, async (server) => {
        const headers = { "anthropic-version": "2023-06-01" };
        const response = await fetch(`${server.baseUrl(protocol)}${paths[protocol]}`, {
          method: "POST",
          body: "{",
          headers,
        });
        assert.equal(response.status, 400);
        assert.match(await response.text(), /invalid_request_error/);
        assert.equal(server.requests[0]?.parsed, undefined);
      });
    });
  }

  it("says what is missing where no key is sent", async () => {
    await serving({ script: [], apiKey: "right" }, async (server) => {
      const chat = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", body: "{}" });
      assert.equal(chat.status, 401);
      assert.match(await chat.text(), /You didn't provide an API key/);
      const anthropic = await fetch(`${server.url}/v1/messages`, { method: "POST", body: "{}" });
      assert.equal(anthropic.status, 401);
      assert.match(await anthropic.text(), /x-api-key header is required/);
    });
  });

  it("wants the version header on anthropic", async () => {
    await serving({ script: [] }, async (server) => {
      const response = await fetch(`${server.url}/v1/messages`, { method: "POST", body: "{}" });
      assert.equal(response.status, 400);
      assert.match(await response.text(), /anthropic-version: header is required/);
    });
  });
});

describe("the record", () => {
  it("holds every request as it came, in order", async () => {
    await serving({ script: { entries: [[{ text: "x" }]], loop: true } }, async (server) => {
      for (const protocol of PROTOCOLS) await read(modelOf(server, protocol));
      assert.deepEqual(
        server.requests.map(({ order, protocol, path }) => [order, protocol, path]),
        [
          [1, "chat", "/v1/chat/completions"],
          [2, "responses", "/v1/responses"],
          [3, "anthropic", "/v1/messages"],
        ],
      );
      const [chat] = server.requests;
      assert.equal(chat?.headers.authorization, "Bearer test");
      assert.deepEqual(JSON.parse(chat?.body ?? ""), chat?.parsed);
      assert.equal(chat?.verdict.ok, true);
      assert.equal(await chat?.ended, "finished");
      assert.ok(server.socketCount >= 1);
    });
  });

  it("hands each request to one waiter, those that came before too", async () => {
    await serving({ script: [[{ text: "a" }], [{ text: "b" }]] }, async (server) => {
      const early = server.nextRequest();
      await read(modelOf(server, "chat"));
      await read(modelOf(server, "chat"));
      assert.equal((await early).order, 1);
      assert.equal((await server.nextRequest()).order, 2);
    });
  });

  it("knows when a client left before the end", async () => {
    await serving({ script: [[{ text: "x" }, { hold: "never" }]] }, async (server) => {
      const client = new AbortController();
      const reading = read(modelOf(server, "chat"), { abortSignal: client.signal });
      await server.held("never");
      client.abort();
      await reading;
      assert.equal(await server.requests[0]?.ended, "aborted");
    });
  });
});

describe("holds", () => {
  it("order two responses against each other without a sleep", async () => {
    const script = [
      [{ hold: "first" }, { text: "1" }],
      [{ hold: "second" }, { text: "2" }],
    ];
    await serving({ script }, async (server) => {
      const order: string[] = [];
      const first = read(modelOf(server, "chat")).then(() => order.push("first"));
      await server.held("first");
      const second = read(modelOf(server, "chat")).then(() => order.push("second"));
      server.release("second");
      await second;
      server.release("first");
      await first;
      assert.deepEqual(order, ["second", "first"]);
    });
  });

  it("released before they are reached let the response pass", async () => {
    await serving({ script: [[{ hold: "gate" }, { text: "x" }]] }, async (server) => {
      server.release("gate");
      assert.equal((await read(modelOf(server, "chat"))).thrown, undefined);
    });
  });
});

describe("close", () => {
  it("ends silent, held and endless responses, and idle sockets", async () => {
    const script = [
      [{ silence: true as const }],
      [{ hold: "never" }],
      [{ repeat: [{ ping: true as const }, { wait: 1 }] }],
    ];
    const server = await startModelServer({ script });
    const readings = script.map(() => read(modelOf(server, "chat")));
    const requests = [await server.nextRequest(), await server.nextRequest(), await server.nextRequest()];
    const idle = connect(Number(new URL(server.url).port), "127.0.0.1");
    idle.on("error", () => {});
    await new Promise((resolve) => idle.once("connect", resolve));
    const waiting = server.nextRequest();
    const closing = server.close();
    await assert.rejects(waiting, /The model server is closed/);
    await closing;
    for (const { thrown } of await Promise.all(readings)) assert.ok(thrown instanceof Error);
    for (const request of requests) assert.equal(await request.ended, "closed");
    await assert.rejects(Promise.resolve(modelOf(server, "chat").doGenerate({ prompt: HELLO })));
  });

  it("may be called twice", async () => {
    const server = await startModelServer({ script: [] });
    await server.close();
    await server.close();
  });

  it("a port in use is an error of the start", async () => {
    await serving({ script: [] }, async (server) => {
      const port = Number(new URL(server.url).port);
      await assert.rejects(startModelServer({ script: [], port }), /EADDRINUSE/);
    });
  });
});
