import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * A modal dialog: it holds the focus, and gives it back when it closes.
 *
 * @param onClose also called for Escape; absent for a dialog that must be answered
 */
export function Dialog(props: { label: string; onClose?: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // In the same moment in which it is there: keys and the focus belong to it at once.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      // Nothing outside of it takes the focus while it is open.
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={props.label}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose?.();
      }}
    >
      {props.children}
    </dialog>
  );
}
