import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { App, ConsolePage } from "../api/mod.ts";
import { AsOf } from "../kit/as-of.ts";
import { Button } from "../kit/button.tsx";
import { Empty } from "../kit/empty.tsx";
import { type Binding, palette } from "../kit/keys.ts";
import { hrefOf, type Place } from "../kit/router.ts";
import { clockTime } from "../kit/times.ts";
import { useDialog } from "../kit/use-dialog.ts";
import { useKeys } from "../kit/use-keys.ts";
import { SignInAgain, SignInInstead } from "../pages/sign-in/mod.ts";
import { KeysHelp } from "./keys-help.tsx";
import { LiveState } from "./live-state.tsx";
import { Navigation } from "./navigation.tsx";
import { pageAt, pages } from "./pages.ts";
import { Palette } from "./palette.tsx";
import type { ThemeSwitch } from "./theme.ts";
import { YourSession } from "./your-session.tsx";

/** The frame around every page. */
export function Shell({ app, theme, says }: { app: App; theme: ThemeSwitch; says: { value: string } }) {
  const { session, router, keys, live } = app;
  const isMenuOpen = useSignal(false);
  const dialog = useDialog<"help" | "palette" | "session">();
  const main = useRef<HTMLElement>(null);
  const place = router.place.value;
  const page = pageAt(place.path);
  const [help, find] = [() => dialog.open("help"), () => dialog.open("palette")];

  useKeys(keys, { ...pageKeys(app), ...commonKeys(find, help) }, [session.view.value]);
  useEffect(() => {
    if (place.path === "/") router.go("/overview", { replace: true });
    isMenuOpen.value = false;
  }, [page]);
  // A new page begins at its top, also for those who hear it. Later, the focus could be taken from a field in which
  // someone types already.
  useLayoutEffect(() => main.current?.focus(), [page]);

  return (
    <div class="shell">
      <Button kind="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </Button>
      <header class="bar">
        <div class="row">
          <Button
            kind="menu"
            aria-expanded={isMenuOpen.value}
            onClick={() => {
              isMenuOpen.value = !isMenuOpen.value;
            }}
          >
            Menu
          </Button>
          <strong class="cut">{location.host}</strong>
          <LiveState app={app} />
        </div>
        <Old app={app} />
      </header>
      <Navigation
        {...{ app, theme, help, find, open: isMenuOpen.value }}
        you={() => dialog.open("session")}
      />
      <main id="main" ref={main} tabIndex={-1}>
        <AsOf since={live.brokenSince}>
          <Shown app={app} place={place} page={page} />
        </AsOf>
      </main>
      {dialog.about === "help" && <KeysHelp keys={keys} close={dialog.close} />}
      {dialog.about === "palette" && <Palette app={app} pages={pages} close={dialog.close} />}
      {dialog.about === "session" && <YourSession app={app} close={dialog.close} />}
      {session.state.value === "ended" && <SignInAgain app={app} />}
      <SignInInstead app={app} />
      <div class="says" role="status">
        {says.value}
      </div>
      {live.brokenSince.value !== undefined && (
        <span class="visually-hidden" role="status">
          Not live
        </span>
      )}
    </div>
  );
}

/** Two keys lead to each page that the session is offered. */
function pageKeys({ session, router }: App): Record<string, Binding> {
  const offered = pages.filter((one) => one.may(session));
  return Object.fromEntries(
    offered.map(({ name, path, key }) => [`g ${key}`, { title: name, run: () => router.go(path) }]),
  );
}

const commonKeys = (find: () => void, help: () => void): Record<string, Binding> => ({
  [palette]: { title: "Go to a page, a peel or a job", run: find },
  "?": { title: "Show the keys", run: help },
});

/** The page of a place, or why there is none. */
function Shown({ app, place, page }: { app: App; place: Place; page: ConsolePage | undefined }) {
  const { session } = app;
  if (page?.may(session)) return <page.View key={page.path} app={app} place={place} />;
  if (page !== undefined) {
    return (
      <Empty whole title="Your roles do not include this page" command="svc whoami">
        {`${session.view.value?.name ?? "You"} may not read what ${page.name} shows. An administrator can change the roles.`}
      </Empty>
    );
  }
  if (place.path === "/") return null;
  return (
    <Empty whole title="This page does not exist">
      <a href={hrefOf("/overview")}>Go to the overview</a>
    </Empty>
  );
}

/** Says since when the page may be old. */
function Old({ app: { live } }: { app: App }) {
  const since = live.brokenSince.value;
  if (since === undefined) return null;
  return (
    <div class="notice old">
      <strong>Not live since {clockTime(since)}</strong>
      <span>
        No master answers, or not the bus behind it. What is shown was true then; nothing can be started now.
        On the host of a master, <code>svc doctor</code> says what is wrong. The console connects again by
        itself; what you typed stays.
      </span>
    </div>
  );
}
