import type { App } from "../api/mod.ts";
import { Button } from "../kit/button.tsx";
import { Mark } from "../kit/mark.tsx";
import { hrefOf } from "../kit/router.ts";
import { LiveState } from "./live-state.tsx";
import { pageAt, pages } from "./pages.ts";
import { type ThemeSwitch, themes } from "./theme.ts";

const themeNames = { system: "Auto", light: "Light", dark: "Dark" } as const;

/** The pages that the session is offered, who is signed in, and the theme. */
export function Navigation(props: {
  app: App;
  theme: ThemeSwitch;
  open: boolean;
  help(): void;
  find(): void;
  you(): void;
}) {
  const { app, theme, open, help, find, you } = props;
  const { session, router } = app;
  const here = pageAt(router.place.value.path);
  return (
    <nav class={open ? "open" : ""} aria-label="Pages">
      <a class="brand" href={hrefOf("/overview")}>
        <Mark />
        <span>
          svc
          {/* Which fleet this is: the address at which its masters are reached. */}
          <small class="cut">{location.host}</small>
        </span>
      </a>
      <Button kind="find" aria-keyshortcuts="Control+K" data-key="Ctrl K" onClick={find}>
        Go to …
      </Button>
      <ul>
        {pages
          .filter((page) => page.may(session))
          .map((page) => (
            <li key={page.path}>
              <a
                href={hrefOf(page.path)}
                data-key={`g ${page.key}`}
                aria-current={page === here ? "page" : undefined}
              >
                {page.name}
              </a>
            </li>
          ))}
      </ul>
      <div class="foot">
        <LiveState app={app} />
        <Who session={session} />
        <Button kind="plain" onClick={you}>
          Your session
        </Button>
        <div class="row">
          <Button onClick={() => session.signOut().catch((thrown) => app.say(thrown.message))}>
            Sign out
          </Button>
          <ThemeButton theme={theme} />
          <Button aria-label="Keys" onClick={help}>
            ?
          </Button>
        </div>
      </div>
    </nav>
  );
}

function Who({ session }: Pick<App, "session">) {
  const { name = "", roles } = session.view.value ?? {};
  return (
    <div class="who">
      <strong>{name}</strong>
      <span class="muted">{roles === undefined ? "may do everything" : rolesText(roles)}</span>
    </div>
  );
}

const rolesText = (roles: readonly string[]) =>
  roles.length === 0 ? "no role" : `${roles.length === 1 ? "role" : "roles"} ${roles.join(", ")}`;

function ThemeButton({ theme }: { theme: ThemeSwitch }) {
  const now = theme.theme.value;
  const next = themes[(themes.indexOf(now) + 1) % themes.length] ?? "system";
  return (
    <Button aria-label={`${themeNames[now]} theme: change it`} onClick={() => theme.set(next)}>
      {themeNames[now]}
    </Button>
  );
}
