// Many texts joined into one string, so that a word is found by one native search: searching thousands of small strings one after the
// other takes longer than searching all that they contain. Runs in the list thread.

/** Never part of a word that is searched for. */
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

  /** Size in memory, in bytes. */
  get size(): number {
    return CHAR_BYTES_MAX * this.#all.length + this.#ends.byteLength;
  }

  get length(): number {
    return this.#all.length;
  }

  at(index: number): string {
    const start = index === 0 ? 0 : this.#ends[index - 1]! + SEPARATOR.length;
    return this.#all.slice(start, this.#ends[index]);
  }

  /** Visits each text that contains the word, once, in order. @param word not empty, and without a line break. */
  forEachWith(word: string, visit: (index: number) => void): void {
    const ends = this.#ends;
    let index = 0;
    for (let at = this.#all.indexOf(word); at !== -1; at = this.#all.indexOf(word, ends[index])) {
      while (ends[index]! <= at) index += 1;
      visit(index);
    }
  }
}
