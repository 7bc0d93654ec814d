import type { ComponentChildren } from "preact";
import { LinkButton } from "../kit/button.tsx";
import { Page } from "../kit/page.tsx";

/**
 * The page of a form that starts something on peels.
 *
 * @param list the page that lists what was started: its words and its path
 * @param submit also called for Enter in a field
 * @param dialog asks before it starts; false while there is none
 */
export function CallPage(props: {
  title: string;
  list: { words: string; path: string };
  submit(): void;
  dialog: ComponentChildren;
  children: ComponentChildren;
}) {
  const { title, list, submit, dialog, children } = props;
  return (
    <Page title={title} actions={<LinkButton to={list.path}>{list.words}</LinkButton>}>
      <form
        class="grid"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {children}
      </form>
      {dialog}
    </Page>
  );
}
