import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { APICallError } from "@ai-sdk/provider";
import { PROTOCOLS, type Protocol } from "../src/index.ts";
import { contentOf, errorsOf, finishOf, HELLO, modelOf, plain, read, serving, typesOf } from "./provider.ts";

/** One deletes what was asked for, the other, with a frame lost, its parent. */
const REMOVE = { path: "/srv/data/tmp/old" };
const LOST = '{"path":"/srv/data';
const SPLIT = [LOST.length, LOST.length + "/tmp/old".length];

function codesOf(error: unknown): unknown[] {
  const codes: unknown[] = [];
  for (let at = error; at instanceof Error; at = at.cause) if ("code" in at) codes.push(at.code);
  return codes;
}

for (const protocol of PROTOCOLS) {
  describe(`${protocol}: faults as a client meets them`, () => {
    it("reset in mid-text: the reader throws, with the cause chain of a socket that went", async () => {
      await serving(
        { script: [[{ text: "Hello world", chunks: 2, upTo: 1 }, { hold: "read" }, { reset: true }]] },
        async (server) => {
          const seen = await read(modelOf(server, protocol), {}, (part) => {
            if (part.type === "text-delta") server.release("read");
          });
          assert.ok(APICallError.isInstance(seen.thrown));
          assert.equal(seen.thrown.isRetryable, true);
          assert.ok(codesOf(seen.thrown).some((code) => code === "UND_ERR_SOCKET" || code === "ECONNRESET"));
          assert.equal(finishOf(seen.parts), undefined);
          assert.equal(await server.requests[0]?.ended, "reset");
          assert.equal(server.requests[0]?.aborted, false);
        },
      );
    });

    it("reset inside tool arguments: throws, and no call is emitted", async () => {
      const steps = [{ call: "rm", input: REMOVE, split: SPLIT, upTo: 1 }, { hold: "read" }, { reset: true }] as const;
      await serving({ script: [steps] }, async (server) => {
        const seen = await read(modelOf(server, protocol), {}, (part) => {
          if (part.type === "tool-input-delta") server.release("read");
        });
        assert.ok(seen.thrown instanceof Error);
        assert.ok(!typesOf(seen.parts).includes("tool-call"));
      });
    });

    it("closed before headers: doStream rejects, retryable, without a status", async () => {
      await serving({ script: [[{ reset: true }]] }, async (server) => {
        await assert.rejects(Promise.resolve(modelOf(server, protocol).doStream({ prompt: HELLO })), (error) => {
          assert.ok(APICallError.isInstance(error));
          assert.equal(error.statusCode, undefined);
          assert.equal(error.isRetryable, true);
          return true;
        });
        assert.equal(await server.requests[0]?.ended, "reset");
        assert.equal(server.requests[0]?.status, 0);
      });
    });

    it("clean end without a terminal frame: no throw, and no good finish", async () => {
      await serving({ script: [[{ text: "Hel" }, { end: true }]] }, async (server) => {
        const { parts, thrown } = await read(modelOf(server, protocol));
        assert.equal(thrown, undefined);
        assert.deepEqual(plain(contentOf(parts)), [["text", "Hel"]]);
        assert.ok(["error", "interrupted", undefined].includes(finishOf(parts)), finishOf(parts));
      });
    });

    it("an empty body after good headers: no content, and no good finish", async () => {
      await serving({ script: [[{ end: true }]] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        assert.deepEqual(contentOf(parts), []);
        assert.ok(!["stop", "tool-calls", "length"].includes(finishOf(parts) ?? "none"));
      });
    });

    it("a finish without the closing frame is a good answer", async () => {
      await serving({ script: [[{ text: "done" }, { finish: "stop" }, { end: true }]] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        assert.deepEqual(errorsOf(parts), []);
      });
    });

    it("silence before headers lasts until the client aborts, and is recorded as that", async () => {
      await serving({ script: [[{ silence: true }]] }, async (server) => {
        const client = new AbortController();
        const reading = read(modelOf(server, protocol), { abortSignal: client.signal });
        const request = await server.nextRequest();
        client.abort();
        assert.equal((await reading).thrown instanceof Error, true);
        assert.equal(await request.ended, "aborted");
        assert.equal(request.aborted, true);
      });
    });

    it("silence after the first frames lasts until the client aborts", async () => {
      await serving({ script: [[{ start: true }, { text: "x" }, { silence: true }]] }, async (server) => {
        const client = new AbortController();
        const { thrown } = await read(modelOf(server, protocol), { abortSignal: client.signal }, (part) => {
          if (part.type === "text-delta") client.abort();
        });
        assert.equal((thrown as Error).name, "AbortError");
        assert.equal(await server.requests[0]?.ended, "aborted");
      });
    });

    it("keep-alives without content go on until the client leaves", async () => {
      const keepAlive = [{ start: true }, { repeat: [{ ping: true }, { wait: 1 }] }] as const;
      await serving({ script: [keepAlive] }, async (server) => {
        const client = new AbortController();
        const frames: unknown[] = [];
        const reading = read(
          modelOf(server, protocol),
          { abortSignal: client.signal, includeRawChunks: true },
          (part) => {
            frames.push(part);
          },
        );
        const request = await server.nextRequest();
        client.abort();
        await reading;
        assert.equal(await request.ended, "aborted");
      });
    });

    it("in-band error after output: an error part, and no good finish", async () => {
      const steps = [
        { text: "x" },
        { hold: "read" },
        { error: { type: "overloaded_error", message: "Overloaded" } },
      ] as const;
      await serving({ script: [steps] }, async (server) => {
        const { parts, thrown } = await read(modelOf(server, protocol), {}, (part) => {
          if (part.type === "text-delta") server.release("read");
        });
        assert.equal(thrown, undefined);
        assert.match(JSON.stringify(errorsOf(parts)), /Overloaded/);
        assert.ok([undefined, "error"].includes(finishOf(parts)));
      });
    });

    it("malformed JSON in one frame: an error part, and the stream goes on", async () => {
      await serving({ script: [[{ text: "a" }, { garbage: true }, { text: "b" }]] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        assert.equal(errorsOf(parts).length, 1);
        const texts = contentOf(parts).map((part) => (part.type === "text" ? part.text : ""));
        assert.equal(texts.join(""), "ab");
      });
    });

    it("HTML with status 200 has no content and no good finish", async () => {
      const entry = {
        steps: [{ raw: "<html>captive portal</html>" }, { end: true }],
        headers: { "content-type": "text/html" },
      } as const;
      await serving({ script: [entry] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        assert.deepEqual(contentOf(parts), []);
        assert.ok(!["stop", "tool-calls", "length"].includes(finishOf(parts) ?? "none"));
      });
    });

    it("statuses reject with the protocol's own error body and the script's headers", async () => {
      const statuses: [number, boolean][] = [
        [429, true],
        [500, true],
        [503, true],
        [529, true],
        [400, false],
        [404, false],
      ];
      const script = statuses.map(([status]) => ({ status, headers: { "retry-after": "7" } }));
      await serving({ script }, async (server) => {
        for (const [status, isRetryable] of statuses) {
          await assert.rejects(Promise.resolve(modelOf(server, protocol).doStream({ prompt: HELLO })), (error) => {
            assert.ok(APICallError.isInstance(error));
            assert.equal(error.statusCode, status);
            assert.equal(error.isRetryable, isRetryable);
            assert.equal(error.responseHeaders?.["retry-after"], "7");
            assert.ok(error.data !== undefined, "the package parsed the error body");
            return true;
          });
        }
      });
    });

    it("a status can carry its own fault or body", async () => {
      const error = {
        type: "insufficient_quota",
        code: "insufficient_quota",
        message: "You exceeded your current quota.",
      };
      await serving(
        {
          script: [
            { status: 429, error },
            { status: 502, body: "Bad gateway" },
          ],
        },
        async (server) => {
          const first = await read(modelOf(server, protocol));
          assert.match(String(first.thrown), /You exceeded your current quota/);
          const second = await read(modelOf(server, protocol));
          assert.ok(APICallError.isInstance(second.thrown));
          assert.equal(second.thrown.responseBody, "Bad gateway");
        },
      );
    });

    it("without streaming the same faults act on the one body", async () => {
      const script = [
        [{ text: "x" }, { reset: true }],
        [{ text: "x" }, { end: true }],
        [{ error: { type: "rate_limit_error", message: "slow down" } }],
        [{ garbage: true }],
        [{ headers: true }, { text: "late" }],
      ] as const;
      await serving({ script }, async (server) => {
        const model = modelOf(server, protocol);
        for (const message of [/Cannot connect|failed/i, /JSON|Invalid/i, /slow down/, /JSON|Invalid/i]) {
          await assert.rejects(Promise.resolve(model.doGenerate({ prompt: HELLO })), message);
        }
        assert.equal(server.requests[2]?.status, 429);
        assert.deepEqual(plain((await model.doGenerate({ prompt: HELLO })).content), [["text", "late"]]);
      });
    });
  });
}

describe("a frame lost inside tool arguments", () => {
  const lost = [{ call: "rm", input: REMOVE, split: SPLIT, drop: 1 }] as const;

  async function callOver(protocol: Protocol): Promise<unknown[]> {
    let content: unknown[] = [];
    await serving({ script: [lost] }, async (server) => {
      content = plain(contentOf((await read(modelOf(server, protocol))).parts));
    });
    return content;
  }

  it("chat and anthropic deliver another call than the model asked for", async () => {
    const wrong = [["call", "rm", '{"path":"/srv/data"}']];
    assert.deepEqual(await callOver("chat"), wrong);
    assert.deepEqual(await callOver("anthropic"), wrong);
  });

  it("responses repeats the whole arguments at the end of the item", async () => {
    assert.deepEqual(await callOver("responses"), [["call", "rm", JSON.stringify(REMOVE)]]);
  });

  it("with garbage in its place the client is told, and gets the wrong call all the same", async () => {
    const steps = [
      { call: "rm", input: REMOVE, split: SPLIT, drop: 1, upTo: 2 },
      { garbage: true },
      { more: true },
    ] as const;
    await serving({ script: [steps] }, async (server) => {
      const { parts } = await read(modelOf(server, "chat"));
      assert.equal(errorsOf(parts).length, 1);
      assert.deepEqual(plain(contentOf(parts)), [["call", "rm", '{"path":"/srv/data"}']]);
    });
  });
});

describe("faults of one protocol", () => {
  it("a clean end inside a tool call: chat hands over half the input, with an error", async () => {
    const steps = [{ call: "rm", input: REMOVE, split: SPLIT, upTo: 1 }, { end: true }] as const;
    await serving({ script: [steps] }, async (server) => {
      const { parts } = await read(modelOf(server, "chat"));
      assert.deepEqual(plain(contentOf(parts)), [["call", "rm", LOST]]);
      assert.equal(finishOf(parts), "error");
    });
  });

  it("reset after a complete call: anthropic and responses have already emitted it", async () => {
    const steps = [{ call: "f", input: {} }, { hold: "read" }, { reset: true }] as const;
    for (const protocol of ["anthropic", "responses"] as const) {
      await serving({ script: [steps] }, async (server) => {
        const { parts, thrown } = await read(modelOf(server, protocol), {}, (part) => {
          if (part.type === "tool-call") server.release("read");
        });
        assert.ok(typesOf(parts).includes("tool-call"));
        assert.ok(thrown instanceof Error);
      });
    }
  });

  it("response.failed ends a responses stream with its error", async () => {
    const steps = [
      { text: "x" },
      { hold: "read" },
      { error: { type: "server_error", message: "broke" }, failed: true },
    ] as const;
    await serving({ script: [steps] }, async (server) => {
      const { parts } = await read(modelOf(server, "responses"), {}, (part) => {
        if (part.type === "text-delta") server.release("read");
      });
      assert.equal(finishOf(parts), "error");
      assert.match(JSON.stringify(errorsOf(parts)), /broke/);
    });
  });

  it("an error frame may come first, and the stream may go on after one", async () => {
    const error = { type: "api_error", message: "hiccup" };
    await serving(
      { script: [[{ error }], [{ text: "a" }, { error, thenContinue: true }, { text: "b" }]] },
      async (server) => {
        const first = await read(modelOf(server, "anthropic"));
        assert.match(String(first.thrown) + JSON.stringify(first.parts), /hiccup/);
        const second = await read(modelOf(server, "chat"));
        assert.deepEqual(plain(contentOf(second.parts)), [["text", "ab"]]);
        assert.equal(errorsOf(second.parts).length, 1);
      },
    );
  });

  it("length inside tool arguments closes the open call as it stands", async () => {
    const steps = [
      { call: "w", input: { a: 1 } },
      { call: "w", input: REMOVE, split: SPLIT, upTo: 1 },
      { finish: "length" },
    ] as const;
    for (const protocol of PROTOCOLS) {
      await serving({ script: [steps] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        assert.equal(finishOf(parts), "length");
        assert.deepEqual(plain(contentOf(parts))[0], ["call", "w", '{"a":1}']);
      });
    }
  });

  it("a lost finish leaves the closing frame alone", async () => {
    await serving({ script: [[{ text: "x" }, { finish: "stop", drop: true }]] }, async (server) => {
      const { parts } = await read(modelOf(server, "chat"));
      assert.equal(finishOf(parts), "error");
    });
  });
});
