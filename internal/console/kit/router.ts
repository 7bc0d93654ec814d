import { type ReadonlySignal, signal } from "@preact/signals";

/** The view of the console that is shown. */
export interface Place {
  /** Below `/console`: `/peels/web-1.example.com`, decoded. */
  path: string;
  query: URLSearchParams;
}

export interface Router {
  readonly place: ReadonlySignal<Place>;
  /** Goes to a path with its query below `/console`; `replace` replaces the entry of the history. */
  go(to: string, options?: { replace?: boolean }): void;
  stop(): void;
}

const base = "/console";

/** The address of a path of the console, as links have it. */
export const hrefOf = (to: string): string => base + to;

/** What `go` takes to come back to a place. */
export const addressOf = ({ path, query }: Place): string =>
  path.split("/").map(encodeURIComponent).join("/") + (query.size === 0 ? "" : `?${query}`);

/** Makes links of the console, and the buttons of the browser, change the place without loading a page. */
export function createRouter(window: Window & typeof globalThis): Router {
  const { document, history, location } = window;
  const read = () => placeOf(location.pathname, location.search);
  const place = signal(read());
  const go: Router["go"] = (to, { replace = false } = {}) => {
    if (replace) history.replaceState(null, "", hrefOf(to));
    else history.pushState(null, "", hrefOf(to));
    place.value = read();
  };
  const onPop = () => {
    place.value = read();
  };
  const onClick = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(`${base}/`)) return;
    event.preventDefault();
    go(link.pathname.slice(base.length) + link.search);
  };
  window.addEventListener("popstate", onPop);
  document.addEventListener("click", onClick);
  return {
    place,
    go,
    stop() {
      window.removeEventListener("popstate", onPop);
      document.removeEventListener("click", onClick);
    },
  };
}

/** The place of an address. A part that is not well-formed stays as it is. */
export function placeOf(pathname: string, search: string): Place {
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  const parts = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { path: parts.join("/").replace(/\/+$/, "") || "/", query: new URLSearchParams(search) };
}
