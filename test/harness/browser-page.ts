import type { Fields, Protocol } from "./browser-protocol.ts";

/** One page of a browser. */
export interface Page extends AsyncDisposable {
  /** Opens an address and resolves when it is loaded. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page; a promise is waited for. */
  evaluate<T>(expression: string): Promise<T>;
  /**
   * Resolves with the value of the expression once it is truthy; looked at whenever the page changes, and on the page
   * that it leads to.
   */
  until<T>(expression: string): Promise<T>;
  /** Clicks the element this selector finds, as soon as it is there. */
  click(selector: string): Promise<void>;
  /** Types into the element this selector finds. */
  type(selector: string, text: string): Promise<void>;
  /** Presses one key where the focus is: `j`, `Enter`, `Tab`. */
  press(key: string): Promise<void>;
  /** How large the window is, and whether the system of the reader is dark. */
  show(as: { width: number; height?: number; dark?: boolean }): Promise<void>;
  /** What the window shows, as PNG. */
  screenshot(): Promise<Uint8Array>;
  /** A command of the protocol, for the rare cases. */
  command<T>(method: string, params?: Record<string, unknown>): Promise<T>;
  /** Calls `run` with every event of this name from now on. */
  on(method: string, run: (params: Record<string, unknown>) => void): void;
  /** Another page, of another person: they have no cookie and no storage in common. It is closed with the browser. */
  another(): Promise<Page>;
  /** Another tab of this person, with the same session, in a window of its own. */
  tab(): Promise<Page>;
  /** Lets the page believe that its tab is behind another one, or is seen again. */
  hide(hidden: boolean): Promise<void>;
  /** Addresses of all requests so far, those that the policy of the page stopped included; of all pages of the browser. */
  readonly requests: readonly string[];
  /** The problems that the browser reported so far, of all its pages: policy violations, errors and exceptions. */
  readonly complaints: readonly string[];
}

/** Below the limit of a test: what the page says instead is then told. */
const timeoutMs = 20_000;
/** Keys that are no character, or that a browser knows by their number. */
const named: Readonly<Record<string, { text: string; code: number }>> = {
  Enter: { text: "\r", code: 13 },
  Tab: { text: "", code: 9 },
  Escape: { text: "", code: 27 },
  ArrowDown: { text: "", code: 40 },
  ArrowLeft: { text: "", code: 37 },
  ArrowRight: { text: "", code: 39 },
  ArrowUp: { text: "", code: 38 },
  PageDown: { text: "", code: 34 },
  End: { text: "", code: 35 },
  Home: { text: "", code: 36 },
};

/** What a browser did so far. */
interface Seen {
  readonly requests: string[];
  readonly complaints: string[];
}

/** @param context the person whose page it is; absent means the first one */
export async function openPage(
  protocol: Protocol,
  seen: Seen = { requests: [], complaints: [] },
  context?: string,
): Promise<Page> {
  const { requests, complaints } = seen;
  const listeners = new Map<string, (params: Fields) => void>();
  let onLoad = () => {};
  const { targetId } = await protocol.send<{ targetId: string }>("Target.createTarget", {
    url: "about:blank",
    // A tab behind another one is not drawn.
    newWindow: true,
    ...(context === undefined ? {} : { browserContextId: context }),
  });
  const { sessionId } = await protocol.send<{ sessionId: string }>("Target.attachToTarget", {
    targetId,
    flatten: true,
  });
  const send = <T = Fields>(method: string, params?: Fields) => protocol.send<T>(method, params, sessionId);
  protocol.onEvent(sessionId, (method, params) => {
    listeners.get(method)?.(params);
    if (method.startsWith("Tracing.")) return;
    const reported = JSON.stringify(params);
    if (method === "Network.requestWillBeSent") requests.push((params.request as { url: string }).url);
    if (method === "Network.webSocketCreated") requests.push(String(params.url));
    if (method === "Page.loadEventFired") onLoad();
    if (method === "Runtime.exceptionThrown" || method === "Audits.issueAdded") complaints.push(reported);
    if (method === "Log.entryAdded" && (params.entry as Fields).level === "error") complaints.push(reported);
    if (method === "Runtime.consoleAPICalled" && params.type === "error") complaints.push(reported);
  });
  for (const domain of ["Page", "Network", "Runtime", "Log", "Audits"]) await send(`${domain}.enable`);
  // Of several windows one has the focus: each of them behaves as if it were that one.
  await send("Emulation.setFocusEmulationEnabled", { enabled: true });

  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send<{ result: { value: T }; exceptionDetails?: Fields }>(
      "Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true },
    );
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  const until = async <T>(expression: string): Promise<T> => {
    for (;;) {
      try {
        return await poll<T>(expression);
      } catch (thrown) {
        // The page was left for another one, as at a provider of identities: that one is looked at.
        if (!/navigated or closed|context was destroyed|find default execution/.test(String(thrown)))
          throw thrown;
      }
    }
  };
  const poll = <T>(expression: string) =>
    evaluate<T>(`new Promise((resolve, reject) => {
      let problem = "";
      const late = setTimeout(() => {
        reject(new Error("never true" + problem + "; the page says: " + document.body?.innerText.slice(0, 2000)));
      }, ${timeoutMs});
      const look = () => {
        let value;
        try {
          value = (${expression});
          problem = "";
        } catch (thrown) {
          // An element that is not there yet.
          problem = ", " + thrown;
        }
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
    async another() {
      const made = await protocol.send<{ browserContextId: string }>("Target.createBrowserContext");
      return wide(await openPage(protocol, seen, made.browserContextId));
    },
    tab: async () => wide(await openPage(protocol, seen, context)),
    async hide(hidden) {
      await evaluate(`Object.defineProperty(document, "visibilityState", {
        configurable: true,
        get: () => "${hidden ? "hidden" : "visible"}",
      })`);
      await evaluate(`document.dispatchEvent(new Event("visibilitychange"))`);
    },
    async [Symbol.asyncDispose]() {
      await protocol.send("Target.closeTarget", { targetId });
    },
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
    command: send,
    on: (method, run) => void listeners.set(method, run),
    async press(key) {
      const { text, code } = named[key] ?? { text: key, code: 0 };
      const typed = { key, windowsVirtualKeyCode: code, ...(text === "" ? {} : { text }) };
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...typed });
      await send("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code });
    },
    async show({ width, height = 900, dark = false }) {
      await send("Emulation.setDeviceMetricsOverride", {
        width,
        height,
        deviceScaleFactor: 1,
        mobile: false,
      });
      const scheme = { name: "prefers-color-scheme", value: dark ? "dark" : "light" };
      await send("Emulation.setEmulatedMedia", { features: [scheme] });
      // The browser answers before the page has its new size. Tables hear of it in the next frame, and then measure.
      await evaluate(`new Promise((resolve) => {
        let frames = ${framesToFit};
        const look = () => {
          if (innerWidth === ${width} && frames-- === 0) resolve(true);
          else requestAnimationFrame(look);
        };
        look();
      })`);
    },
    async screenshot() {
      const { data } = await send<{ data: string }>("Page.captureScreenshot", { format: "png" });
      return Buffer.from(data, "base64");
    },
    async type(selector, text) {
      // What is not shown yet takes no focus.
      await until(
        `${find(selector)} && (${find(selector)}.focus(), document.activeElement === ${find(selector)})`,
      );
      await send("Input.insertText", { text });
    },
  };
}

/** Until a table has its new width, its columns were measured, and they are drawn. */
const framesToFit = 4;

/** As wide as a laptop: the navigation is shown. */
async function wide(page: Page): Promise<Page> {
  await page.show({ width: 1280 });
  return page;
}
