import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../api/mod.ts";
import { Empty } from "../kit/empty.tsx";
import { palette } from "../kit/keys.ts";
import { hrefOf } from "../kit/router.ts";
import { clockTime } from "../kit/times.ts";
import { SignInAgain } from "../pages/sign-in/mod.ts";
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
  const open = useSignal(false);
  const help = useSignal(false);
  const finding = useSignal(false);
  const you = useSignal(false);
  const main = useRef<HTMLElement>(null);
  const place = router.place.value;
  const page = pageAt(place.path);
  const showHelp = () => {
    help.value = true;
  };
  const hideHelp = () => {
    help.value = false;
  };
  const find = () => {
    finding.value = true;
  };
  const stopFinding = () => {
    finding.value = false;
  };
  const showYou = () => {
    you.value = true;
  };
  const hideYou = () => {
    you.value = false;
  };

  // In the same moment in which the page is shown, its keys work.
  useLayoutEffect(() => {
    const offered = pages.filter((one) => one.may(session));
    return keys.bind({
      ...Object.fromEntries(
        offered.map(({ name, path, key }) => [`g ${key}`, { title: name, run: () => router.go(path) }]),
      ),
      [palette]: { title: "Go to a page, a peel or a job", run: find },
      "?": { title: "Show the keys", run: showHelp },
    });
  }, [session.view.value]);
  useEffect(() => {
    if (place.path === "/") router.go("/overview", { replace: true });
    document.title = page === undefined ? "svc" : `${page.name} · svc`;
    open.value = false;
  }, [page]);
  // A new page begins at its top, also for those who hear it. Later, the focus could be taken from a field in which
  // someone types already.
  useLayoutEffect(() => main.current?.focus(), [page]);

  const offered = page?.may(session) === true;
  return (
    <div class="shell">
      <button type="button" class="button skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header class="bar">
        <div class="row">
          <button
            type="button"
            class="button menu"
            aria-expanded={open.value}
            onClick={() => {
              open.value = !open.value;
            }}
          >
            Menu
          </button>
          <strong class="cut">{location.host}</strong>
          <LiveState app={app} />
        </div>
        <Old app={app} />
      </header>
      <Navigation app={app} theme={theme} open={open.value} help={showHelp} find={find} you={showYou} />
      <main id="main" ref={main} tabIndex={-1}>
        {page !== undefined && offered && <page.View key={page.path} app={app} place={place} />}
        {page !== undefined && !offered && (
          <Empty whole title="Your roles do not include this page" command="svc whoami">
            {`${session.view.value?.name ?? "You"} may not read what ${page.name} shows. An administrator can change the roles.`}
          </Empty>
        )}
        {page === undefined && place.path !== "/" && (
          <Empty whole title="This page does not exist">
            <a href={hrefOf("/overview")}>Go to the overview</a>
          </Empty>
        )}
      </main>
      {help.value && <KeysHelp keys={keys} close={hideHelp} />}
      {finding.value && <Palette app={app} pages={pages} close={stopFinding} />}
      {you.value && <YourSession app={app} close={hideYou} />}
      {session.state.value === "ended" && <SignInAgain app={app} />}
      <div class="says" role="status">
        {says.value}
      </div>
      {live.brokenSince.value !== undefined && (
        <span class="visually-hidden" role="status">
          No connection to a master
        </span>
      )}
    </div>
  );
}

/** Says since when the page may be old. */
function Old({ app: { live } }: { app: App }) {
  const since = live.brokenSince.value;
  if (since === undefined) return null;
  return (
    <div class="notice old">
      <strong>Old since {clockTime(since)}</strong>
      <span>No master answers. The console connects again by itself; what you typed stays.</span>
    </div>
  );
}
