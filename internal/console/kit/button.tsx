import type { ComponentChildren, JSX } from "preact";
import { hrefOf } from "./router.ts";

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "type" | "class"> & {
  /** `primary` for what the page is for, `danger` for what cannot be taken back. */
  kind?: string;
  children: ComponentChildren;
};

/** A button that does something on the page. */
export const Button = ({ kind, ...rest }: ButtonProps) => (
  <button type="button" class={kind === undefined ? "button" : `button ${kind}`} {...rest} />
);

/** A button that leads to another view of the console. */
export const LinkButton = ({
  to,
  kind,
  children,
}: Pick<ButtonProps, "kind" | "children"> & { to: string }) => (
  <a class={kind === undefined ? "button" : `button ${kind}`} href={hrefOf(to)}>
    {children}
  </a>
);
