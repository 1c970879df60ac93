import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { isPublicAddress } from "../src/tools/address-guard.ts";
import type { FetchGuard } from "../src/tools/page-request.ts";
import { pageText } from "../src/tools/page-text.ts";
import { Folder } from "./tools-call.ts";

async function serve(t: TestContext, answer: RequestListener): Promise<{ url: string; server: Server; host: string }> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, server, host: `127.0.0.1:${port}` };
}

function folder(t: TestContext, fetch?: FetchGuard): Folder {
  return new Folder(t, {}, fetch ? { fetch } : {});
}

const everywhere: FetchGuard = { allowPrivate: true };

test("only public addresses are, in every spelling", () => {
  const closed = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.127.255.255",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "::127.0.0.1",
    "0:0:0:0:0:ffff:10.0.0.1",
    "",
    "localhost",
    "1.2.3",
    "999.1.1.1",
  ];
  for (const address of closed) assert.equal(isPublicAddress(address), false, address);
  const open = [
    "1.1.1.1",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "2a00:1450::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
  ];
  for (const address of open) assert.equal(isPublicAddress(address), true, address);
});

test("private places are refused before anything is sent, however they are written", async (t) => {
  let asked = 0;
  const { url, host } = await serve(t, (_, response) => {
    asked += 1;
    response.end("secret");
  });
  const port = new URL(url).port;
  const tools = folder(t, { resolve: async () => [{ address: "127.0.0.1", family: 4 }] });
  const places = [
    url,
    `http://localhost:${port}/`,
    `http://[::1]:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://2130706433:${port}/`,
    `http://0x7f.1:${port}/`,
    `http://017700000001:${port}/`,
    `http://public.example:${port}/`,
    `http://127.0.0.1.:${port}/`,
    "http://169.254.169.254/latest/meta-data/",
  ];
  for (const place of places)
    await assert.rejects(tools.call("fetch", { url: place }), /not an address of the public internet/, place);
  const refused: [string, RegExp][] = [
    ["file:///etc/passwd", /neither http nor https/],
    ["gopher://x/", /neither http nor https/],
    ["data:text/plain,x", /neither http nor https/],
    [`http://user:pass@${host}/`, /credentials/],
    ["example.com/page", /no address: give a whole one/],
  ];
  for (const [place, words] of refused) await assert.rejects(tools.call("fetch", { url: place }), words, place);
  assert.equal(asked, 0);
});

test("a redirect to another host is told, not followed: who may be asked is a question of its own", async (t) => {
  let asked = 0;
  const inner = await serve(t, (_, response) => {
    asked += 1;
    response.end("secret");
  });
  const outer = await serve(t, (request, response) => {
    if (request.url === "/here") response.writeHead(302, { location: "/there?a=b" }).end();
    else if (request.url === "/there?a=b") response.end("arrived");
    else response.writeHead(302, { location: `${inner.url}/?data` }).end();
  });
  const tools = folder(t, { allowPrivate: true });
  const text = await tools.call("fetch", { url: outer.url });
  assert.equal(
    text,
    `${outer.url}/ redirects to another host, which was not asked: ${inner.url}/?data\nFetch that address if it is wanted.`,
  );
  assert.equal(asked, 0);
  assert.match(await tools.call("fetch", { url: `${outer.url}/here` }), /there\?a=b\n\narrived$/);
});

test("a redirect is judged like the first address; a name with one private address is refused", async (t) => {
  let asked = 0;
  const inner = await serve(t, (_, response) => {
    asked += 1;
    response.end("secret");
  });
  const outer = await serve(t, (request, response) => {
    response.writeHead(302, { location: request.url }).end();
  });
  const tools = folder(t, { allowPrivate: [outer.host] });
  await assert.rejects(
    tools.call("fetch", { url: inner.url }),
    /"127\.0\.0\.1" is not an address of the public internet/,
  );
  await assert.rejects(tools.call("fetch", { url: `${outer.url}/loop` }), /more than 5 redirects/);
  const both = folder(t, {
    resolve: async () => [
      { address: "93.184.216.34", family: 4 },
      { address: "10.0.0.1", family: 4 },
    ],
  });
  await assert.rejects(
    both.call("fetch", { url: "http://both.example/" }),
    /leads to 10\.0\.0\.1, not an address of the public internet/,
  );
  assert.equal(asked, 0);
});

test("the address that was judged is the one that is connected to: a name is resolved once", async (t) => {
  const { url } = await serve(t, (_, response) => response.end("hello"));
  let resolved = 0;
  const resolve = async () => [{ address: resolved++ === 0 ? "127.0.0.1" : "10.255.255.1", family: 4 }];
  const tools = folder(t, { allowPrivate: ["rebound.example"], resolve });
  assert.match(await tools.call("fetch", { url: `http://rebound.example:${new URL(url).port}/` }), /hello/);
  assert.equal(resolved, 1);
});

test("HTML becomes Markdown, a packed body is unpacked, other text is as it is, errors are errors", async (t) => {
  const { url } = await serve(t, (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://x");
    if (pathname === "/json") return response.writeHead(200, { "content-type": "application/json" }).end('{"a":1}');
    if (pathname === "/picture") return response.writeHead(200, { "content-type": "image/png" }).end("\x89PNG");
    if (pathname === "/missing") return response.writeHead(404, { "content-type": "text/plain" }).end("no such page");
    if (pathname === "/latin")
      return response
        .writeHead(200, { "content-type": "text/html; charset=iso-8859-1" })
        .end(Buffer.from("<p>caf\xe9</p>", "latin1"));
    const headers = { "content-type": "text/html", "content-encoding": "gzip" };
    return response
      .writeHead(200, headers)
      .end(gzipSync("<title>The page</title><h1>Hello</h1><script>bad()</script><p>a <a href='/x'>link</a></p>"));
  });
  const tools = folder(t, everywhere);
  const page = await tools.result("fetch", { url });
  assert.deepEqual(page, { text: `${url}/\n\nTitle: The page\n\n# Hello\n\na [link](${url}/x)`, isError: false });
  assert.match(await tools.call("fetch", { url: `${url}/json` }), /\n\n\{"a":1\}$/);
  assert.match(await tools.call("fetch", { url: `${url}/latin` }), /café$/);
  assert.match(
    await tools.call("fetch", { url: `${url}/picture` }),
    /This is image\/png, not text, and was not loaded/,
  );
  const missing = await tools.result("fetch", { url: `${url}/missing` });
  assert.equal(missing.isError, true);
  assert.match(missing.text, /\(status 404\)\n\nno such page/);
});

test("what is too large is cut, read on by offset, and never all loaded", async (t) => {
  const { url } = await serve(t, (request, response) => {
    response.writeHead(200, {
      "content-type": "text/plain",
      ...(request.url === "/bomb" ? { "content-encoding": "gzip" } : {}),
    });
    if (request.url === "/bomb") response.end(gzipSync(Buffer.alloc(200_000_000, 97)));
    else if (request.url === "/endless") {
      const more = () => !response.destroyed && response.write("x".repeat(100_000), more);
      more();
    } else response.end("0123456789".repeat(5_000));
  });
  const tools = folder(t, everywhere);
  const first = await tools.call("fetch", { url });
  assert.match(first, /\[characters 0 to 30000 of 50000; go on with offset 30000\]$/);
  assert.match(await tools.call("fetch", { url, offset: 30_000 }), /\n\n0123456789.{19990}$/s);
  await assert.rejects(tools.call("fetch", { url, offset: 60_000 }), /behind the end/);
  for (const path of ["/bomb", "/endless"])
    assert.match(await tools.call("fetch", { url: url + path }), /longer than 5\.0 MB/);
});

test("an abort ends a look-up and an answer that never come", async (t) => {
  const { url } = await serve(t, () => undefined);
  const guards: [FetchGuard, string][] = [
    [everywhere, url],
    [{ resolve: () => new Promise(() => undefined) }, "http://slow.example/"],
  ];
  for (const [guard, place] of guards) {
    const controller = new AbortController();
    const call = folder(t, guard).call("fetch", { url: place }, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
  }
});

test("a page with lists, tables, code, quotes and broken tags reads well", () => {
  const html = `<nav>menu</nav><h2>A <em>b</em></h2><ul><li>one<li>two<ul><li>deep</ul></ul><ol><li>first<li>second</ol>
    <pre><code>if (x &lt; 1) {\n  y();\n}</code></pre><blockquote><p>said</p></blockquote><table><tr><th>k<th>v<tr><td>1<td>2</table>
    <img alt="a cat" src="x"><p>x<br>y<a href="javascript:alert(1)">z</a><b>unclosed`;
  assert.equal(
    pageText(html, "https://x.example/").text,
    [
      "## A *b*",
      "",
      "- one",
      "- two",
      "  - deep",
      "",
      "1. first",
      "2. second",
      "",
      "```",
      "if (x < 1) {",
      "  y();",
      "}",
      "```",
      "",
      "> said",
      "",
      "| k | v |",
      "| 1 | 2 |",
      "",
      "[image: a cat]",
      "",
      "x",
      "yz**unclosed**",
    ].join("\n"),
  );
});

test("no page makes the reader throw, or take long: nesting, thousands of links, noise", () => {
  const tags = fc.constantFrom(
    "<div>",
    "</div>",
    "<a href=x>",
    "</a>",
    "<li>",
    "<ul>",
    "</ul>",
    "<pre>",
    "</pre>",
    "<td>",
    "<blockquote>",
    "text ",
    "<script>",
    "</script>",
    "&amp;",
    "<!--",
    "-->",
    "<title>",
    "<",
  );
  fc.assert(
    fc.property(
      fc.array(tags, { maxLength: 60 }),
      (parts) => typeof pageText(parts.join(""), "https://x.example/").text === "string",
    ),
  );
  assert.match(
    pageText(`${"<div><blockquote><ul>".repeat(100_000)}deep`, "https://x.example/").text,
    /nested too deeply/,
  );
  assert.ok(pageText("<p>hello <a href=y>z</a></p>".repeat(30_000), "https://x.example/").text.length > 500_000);
});
