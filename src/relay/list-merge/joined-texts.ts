// Many texts as one, in which a word is looked for natively: to ask thousands of small texts one after the other takes longer than to look
// through all that they say. In the list thread.

/** In no word that is looked for. */
const SEPARATOR = '\n';
const CHAR_BYTES_MAX = 2;

export class JoinedTexts {
  readonly #all: string;
  readonly #ends: Int32Array;

  constructor(texts: readonly string[]) {
    this.#all = texts.join(SEPARATOR);
    this.#ends = new Int32Array(texts.length);
    let at = 0;
    for (let index = 0; index < texts.length; index += 1) {
      at += texts[index]!.length;
      this.#ends[index] = at;
      at += SEPARATOR.length;
    }
  }

  /** What they take in memory. */
  get size(): number {
    return CHAR_BYTES_MAX * this.#all.length + this.#ends.byteLength;
  }

  at(index: number): string {
    const start = index === 0 ? 0 : this.#ends[index - 1]! + SEPARATOR.length;
    return this.#all.slice(start, this.#ends[index]);
  }

  /** Visits each text that has the word, once, in their order. @param word not empty, and without a line's end. */
  forEachWith(word: string, visit: (index: number) => void): void {
    const ends = this.#ends;
    let index = 0;
    for (let at = this.#all.indexOf(word); at !== -1; at = this.#all.indexOf(word, ends[index])) {
      while (ends[index]! <= at) index += 1;
      visit(index);
    }
  }
}
