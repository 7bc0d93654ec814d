import type { Frame } from "./frame.ts";
import type { Target } from "./syntax/mod.ts";
import { defined, Fault, iterate, Namespace, Unknown, type Value } from "./values/mod.ts";

/** How a value is assigned. @throws Fault for a value that does not fit */
export function compileTarget(target: Target): (frame: Frame, value: Value) => void {
  switch (target.kind) {
    case "name": {
      const { name } = target;
      return (frame, value) => frame.set(name, value);
    }
    case "attribute": {
      const { of, name } = target;
      return (frame, value) => {
        const found = frame.resolve(of);
        if (!(found instanceof Namespace)) throw new Fault("cannot assign attribute on non-namespace object");
        found.set(name, value);
      };
    }
    case "tuple": {
      const items = target.items.map(compileTarget);
      return (frame, value) => {
        if (value instanceof Unknown) {
          for (const assign of items) assign(frame, value);
          return;
        }
        const values = iterate(defined(value));
        if (values.length !== items.length) {
          throw new Fault(`cannot unpack ${values.length} values into ${items.length} names`);
        }
        for (const [at, assign] of items.entries()) assign(frame, values[at] as Value);
      };
    }
  }
}
