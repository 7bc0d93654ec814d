import { useSignal } from "@preact/signals";

/** A dialog of a page: what it is about while it is open. @param closed is called when it closes */
export function useDialog<About = true>(closed: () => void = () => {}) {
  const about = useSignal<About | undefined>(undefined);
  return {
    about: about.value,
    open(what: About) {
      about.value = what;
    },
    close() {
      about.value = undefined;
      closed();
    },
  };
}
