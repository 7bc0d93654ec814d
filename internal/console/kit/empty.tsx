import type { ComponentChildren } from "preact";
import { useTab } from "./page.tsx";

/**
 * What an empty page says: why, and what to do next.
 *
 * @param whole it is the whole page, and its title is that of the page
 */
export function Empty(props: {
  title: string;
  children?: ComponentChildren;
  command?: string;
  whole?: true;
}) {
  useTab(props.whole ? props.title : undefined);
  const said = (
    <div class="empty">
      {props.whole === true ? <h1>{props.title}</h1> : <h2>{props.title}</h2>}
      {props.children !== undefined && <p>{props.children}</p>}
      {props.command !== undefined && <code class="command">{props.command}</code>}
    </div>
  );
  return props.whole === true ? <div class="page">{said}</div> : said;
}
