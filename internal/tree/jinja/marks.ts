/** Where a part of a rendered text comes from. */
interface Mark {
  /** Where the part begins in the rendered text. */
  readonly offset: number;
  readonly template: { readonly name: string; readonly source: string };
  /** Offset in the template. */
  readonly at: number;
  /** Whether the template has the part as it was written. */
  readonly isSource: boolean;
}

/** Remembers where each part of a rendered text comes from. */
export class Marks {
  private marks: Mark[] = [];
  /** Those of texts that were written apart, as the text of a macro is. */
  private readonly apart = new Map<string, readonly Mark[]>();

  add(mark: Mark, text: string): void {
    // A template that extends another one takes back what it wrote.
    while ((this.marks.at(-1)?.offset ?? -1) >= mark.offset) this.marks.pop();
    const parts = mark.isSource ? undefined : this.apart.get(text);
    if (parts === undefined) this.marks.push(mark);
    else for (const part of parts) this.marks.push({ ...part, offset: mark.offset + part.offset });
  }

  /** Begins a text that is written apart. @returns what to call with the text when it has ended */
  begin(): (text: string) => void {
    const around = this.marks;
    const own: Mark[] = [];
    this.marks = own;
    return (text) => {
      this.marks = around;
      if (own.length > 0) this.apart.set(text, own);
    };
  }

  /** Another attempt. */
  clear(): void {
    this.marks = [];
    this.apart.clear();
  }

  /** The place in a template that wrote this place of the rendered text. */
  placeOf(offset: number): { template: string; line: number; column: number } | undefined {
    let [low, high] = [0, this.marks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.marks[middle]?.offset ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    const mark = this.marks[low - 1];
    if (mark === undefined) return undefined;
    const { template, at, isSource } = mark;
    const before = template.source.slice(0, isSource ? at + (offset - mark.offset) : at).split("\n");
    return { template: template.name, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
}
