import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import stylePath from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import scriptPath from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };

/** A file that the page loads, with its media type. */
export interface PageFile {
  readonly type: string;
  text(): string;
}

const directory = "/api/v1/docs";
const [scriptName, styleName] = ["swagger-ui.js", "swagger-ui.css"] as const;

/** The files of the page, which the executable carries. */
export const pageFiles: Readonly<Record<string, PageFile>> = {
  [scriptName]: {
    type: "text/javascript; charset=utf-8",
    text: () => readFileSync(scriptPath, "utf8"),
  },
  [styleName]: { type: "text/css; charset=utf-8", text: () => readFileSync(stylePath, "utf8") },
};

/** The address of the style of the page. */
export const stylePlace = `${directory}/${styleName}`;

/**
 * The library makes fields that have neither an id nor a name, about which browsers complain a while later: each gets
 * a name in the moment in which it is there.
 */
const nameFields = `
let fields = 0;
new MutationObserver(() => {
  for (const field of document.querySelectorAll(":is(input, select, textarea):not([id], [name])"))
    field.name = "field-" + ++fields;
}).observe(document, { subtree: true, childList: true });
`;

/** The page, and the content security policy under which it works. */
export interface Page {
  readonly html: string;
  readonly policy: string;
}

/**
 * Makes the plugin's page load its script from this listener instead of a content delivery network. The policy
 * names the script of the file and the inline script by their digests, so that the browser runs nothing else,
 * also if text of the description became markup.
 *
 * @param made the page as the plugin makes it
 */
export async function carriedPage(made: Response): Promise<Page> {
  const library = digestOf(pageFiles[scriptName]?.text() ?? "");
  const inline: string[] = [];
  const rewritten = await new HTMLRewriter()
    .on("title", { element: (title) => void title.setInnerContent("svc API") })
    // Without it, browsers request /favicon.ico.
    .on("head", { element: (head) => void head.append('<link rel="icon" href="data:,">', { html: true }) })
    .on("script[src]", {
      element(script) {
        script.setAttribute("src", `${directory}/${scriptName}`);
        script.setAttribute("integrity", library);
        script.removeAttribute("crossorigin");
      },
    })
    .on("script:not([src])", {
      text(part) {
        inline.push(part.text);
        if (!part.lastInTextNode) return;
        inline.push(nameFields);
        part.after(nameFields, { html: true });
      },
    })
    .transform(made)
    .text();
  return { html: rewritten, policy: policyOf([library, digestOf(inline.join(""))]) };
}

function policyOf(scripts: readonly string[]): string {
  return [
    "default-src 'none'",
    `script-src ${scripts.map((digest) => `'${digest}'`).join(" ")}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function digestOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
