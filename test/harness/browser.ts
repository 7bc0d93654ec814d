import { createHash, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

// A headless Chromium, controlled over the Chrome DevTools Protocol, without a library.

/** One page in a browser of its own. */
export interface Page extends AsyncDisposable {
  /** Opens an address and resolves when it is loaded. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page; a promise is waited for. */
  evaluate<T>(expression: string): Promise<T>;
  /** Resolves with the value of the expression once it is truthy; looked at whenever the page changes. */
  until<T>(expression: string): Promise<T>;
  /** Clicks the element this selector finds, as soon as it is there. */
  click(selector: string): Promise<void>;
  /** Types into the element this selector finds. */
  type(selector: string, text: string): Promise<void>;
  /** Addresses of all requests so far, those that the policy of the page stopped included. */
  readonly requests: readonly string[];
  /** The problems that the browser reported so far: policy violations, errors and exceptions. */
  readonly complaints: readonly string[];
}

const timeoutMs = 60_000;

/** The Chromium of the tests; a missing one fails them. */
function chromiumPath(): string {
  const path = join(import.meta.dir, "../../.tools/bin/chromium");
  if (!existsSync(path)) throw new Error("no chromium: run the tests with make test, which installs one");
  return path;
}

/** Starts a browser that trusts, of all certificates, those of a CA's host only as this server shows it. */
export async function openBrowser(server: { url: string; ca: string }): Promise<Page> {
  const files = temporaryDirectory("browser");
  const program = startProgram(
    [
      chromiumPath(),
      // The tests may run as root, where Chromium's own sandbox does not start; the page is ours.
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      ...["--no-first-run", "--disable-background-networking", "--disable-component-update"],
      ...["--remote-debugging-port=0", `--user-data-dir=${files.path}`],
      `--ignore-certificate-errors-spki-list=${await pinOf(server)}`,
      "about:blank",
    ],
    { env: { HOME: files.path } },
  );
  try {
    const listening = /DevTools listening on (ws:\S+)/;
    await program.waitFor(listening);
    const [, address = ""] = listening.exec(program.output()) ?? [];
    const protocol = await connectTo(address);
    const page = await openPage(protocol);
    return Object.assign(page, {
      async [Symbol.asyncDispose]() {
        protocol.close();
        await program[Symbol.asyncDispose]();
        files[Symbol.dispose]();
      },
    });
  } catch (thrown) {
    await program[Symbol.asyncDispose]();
    files[Symbol.dispose]();
    throw thrown;
  }
}

/** SHA-256 of the key the server shows in a handshake that its CA verifies, in base64. */
function pinOf({ url, ca }: { url: string; ca: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: "127.0.0.1",
      port: Number(new URL(url).port),
      servername: "localhost",
      ca,
    });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const { publicKey } = new X509Certificate(socket.getPeerCertificate().raw);
      socket.destroy();
      resolve(
        createHash("sha256")
          .update(publicKey.export({ type: "spki", format: "der" }))
          .digest("base64"),
      );
    });
  });
}

type Fields = Record<string, unknown>;

interface Protocol {
  send<T = Fields>(method: string, params?: Fields): Promise<T>;
  /** Every event from now on. */
  onEvent(run: (method: string, params: Fields) => void): void;
  /** Commands and events are those of this target from now on. */
  attach(sessionId: string): void;
  close(): void;
}

async function connectTo(address: string): Promise<Protocol> {
  const socket = new WebSocket(address);
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let run: (method: string, params: Fields) => void = () => {};
  let session: { sessionId?: string } = {};
  let last = 0;
  const opened = Promise.withResolvers<void>();
  socket.onopen = () => opened.resolve();
  socket.onerror = () => opened.reject(new Error(`no connection to the browser at ${address}`));
  socket.onclose = () => {
    for (const { reject } of waiting.values()) reject(new Error("the browser has gone"));
  };
  socket.onmessage = ({ data }) => {
    const { id, method, params, result, error } = JSON.parse(String(data));
    if (id === undefined) return run(method, params);
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(`the browser refused: ${error.message}`));
  };
  await opened.promise;
  return {
    send<T>(method: string, params: Fields = {}) {
      const id = ++last;
      const answer = new Promise<T>((resolve, reject) => {
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      });
      socket.send(JSON.stringify({ id, method, params, ...session }));
      return answer;
    },
    onEvent(next) {
      run = next;
    },
    attach(sessionId) {
      session = { sessionId };
    },
    close: () => socket.close(),
  };
}

async function openPage(protocol: Protocol): Promise<Omit<Page, typeof Symbol.asyncDispose>> {
  const { send } = protocol;
  const requests: string[] = [];
  const complaints: string[] = [];
  let onLoad = () => {};
  const { targetId } = await send<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send<{ sessionId: string }>("Target.attachToTarget", {
    targetId,
    flatten: true,
  });
  protocol.attach(sessionId);
  protocol.onEvent((method, params) => {
    const told = JSON.stringify(params);
    if (method === "Network.requestWillBeSent") requests.push((params.request as { url: string }).url);
    if (method === "Network.webSocketCreated") requests.push(String(params.url));
    if (method === "Page.loadEventFired") onLoad();
    if (method === "Runtime.exceptionThrown" || method === "Audits.issueAdded") complaints.push(told);
    if (method === "Log.entryAdded" && (params.entry as Fields).level === "error") complaints.push(told);
    if (method === "Runtime.consoleAPICalled" && params.type === "error") complaints.push(told);
  });
  for (const domain of ["Page", "Network", "Runtime", "Log", "Audits"]) await send(`${domain}.enable`);

  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send<{ result: { value: T }; exceptionDetails?: Fields }>(
      "Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true },
    );
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  const until = <T>(expression: string) =>
    evaluate<T>(`new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        reject(new Error("never true; the page says: " + document.body.innerText.slice(0, 2000)));
      }, ${timeoutMs});
      const look = () => {
        const value = (${expression});
        if (!value) return;
        observer.disconnect();
        clearTimeout(late);
        resolve(value);
      };
      const observer = new MutationObserver(look);
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      look();
    })`);
  const find = (selector: string) => `document.querySelector(${JSON.stringify(selector)})`;
  return {
    requests,
    complaints,
    evaluate,
    until,
    async open(url) {
      const loaded = new Promise<void>((resolve) => {
        onLoad = resolve;
      });
      const { errorText } = await send<{ errorText?: string }>("Page.navigate", { url });
      if (errorText !== undefined) throw new Error(`${url}: ${errorText}`);
      await loaded;
    },
    async click(selector) {
      await until(`${find(selector)} && (${find(selector)}.click(), true)`);
    },
    async type(selector, text) {
      await until(`${find(selector)} && (${find(selector)}.focus(), true)`);
      await send("Input.insertText", { text });
    },
  };
}
