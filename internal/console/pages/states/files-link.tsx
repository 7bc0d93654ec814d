import { type App, routes, useAnswer } from "../../api/mod.ts";
import { LinkButton } from "../../kit/button.tsx";
import { fileChanges, filesPath } from "./files-path.ts";

/** Leads to the files, and says how many are refused. */
export function FilesLink({ app }: { app: App }) {
  const { value } = useAnswer(app, routes.listFiles, {}, fileChanges);
  const { refused = [], refused_left_out: more = 0 } = value?.report ?? {};
  const count = refused.length + more;
  return (
    <LinkButton to={filesPath} {...(count === 0 ? {} : { kind: "danger" })}>
      {count === 0 ? "State files" : `State files: ${count.toLocaleString("en")} refused`}
    </LinkButton>
  );
}
