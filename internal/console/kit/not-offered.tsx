import { Empty } from "./empty.tsx";
import { Page } from "./page.tsx";

/**
 * A page for which the roles of the session do not suffice.
 *
 * @param title of the page
 * @param what it does, which the roles do not include: `running jobs`
 */
export function NotOffered({ title, what }: { title: string; what: string }) {
  return (
    <Page title={title}>
      <Empty title={`Your roles do not include ${what}`} command="svc whoami">
        An administrator can change the roles.
      </Empty>
    </Page>
  );
}
