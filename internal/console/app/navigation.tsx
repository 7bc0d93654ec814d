import type { App } from "../api/mod.ts";
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
  const { name = "", roles } = session.view.value ?? {};
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
      <button
        type="button"
        class="button find"
        aria-keyshortcuts="Control+K"
        data-key="Ctrl K"
        onClick={find}
      >
        Go to …
      </button>
      <ul>
        {pages
          .filter((page) => page.may(session))
          .map((page) => (
            <li key={page.path}>
              <a
                href={hrefOf(page.path)}
                data-key={`g ${page.key}`}
                {...(page === here ? { "aria-current": "page" } : {})}
              >
                {page.name}
              </a>
            </li>
          ))}
      </ul>
      <div class="foot">
        <LiveState app={app} />
        <div class="who">
          <strong>{name}</strong>
          <span class="muted">{roles === undefined ? "may do everything" : rolesText(roles)}</span>
        </div>
        <button type="button" class="button plain" onClick={you}>
          Your session
        </button>
        <div class="row">
          <button
            type="button"
            class="button"
            onClick={() => session.signOut().catch((thrown) => app.say(thrown.message))}
          >
            Sign out
          </button>
          <button
            type="button"
            class="button"
            aria-label={`${themeNames[theme.theme.value]} theme: change it`}
            onClick={() =>
              theme.set(themes[(themes.indexOf(theme.theme.value) + 1) % themes.length] ?? "system")
            }
          >
            {themeNames[theme.theme.value]}
          </button>
          <button type="button" class="button" aria-label="Keys" onClick={help}>
            ?
          </button>
        </div>
      </div>
    </nav>
  );
}

const rolesText = (roles: readonly string[]) =>
  roles.length === 0 ? "no role" : `${roles.length === 1 ? "role" : "roles"} ${roles.join(", ")}`;
