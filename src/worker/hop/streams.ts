// The streams of a link: their numbers, and who is behind each. No `Map`, because streams come and go with every hop
// (shared/list-node.ts says what that costs): a number names a place in an array, and which use of that place it is. Hot.
//
//   stream = use (u16, from 1) · place (u16)

const PLACE_MASK = 0xffff;
const USE_MAX = 0xffff;

/** As many as may be under way at once. */
export const STREAMS_MAX = PLACE_MASK + 1;

/**
 * Gives out numbers, never 0. One comes again after at least 65,535 others: until then every frame that was sent under
 * it has arrived, for a link keeps their order and each of the others was answered over it.
 */
export class StreamNumbers {
  /** The one freed last is the next to be used, so that the tables at both ends stay as short as can be. */
  readonly #freePlaces: number[] = [];
  #placeCount = 0;
  #lastUse = 0;

  /** Not more than `STREAMS_MAX` may be out. */
  take(): number {
    const place = this.#freePlaces.pop() ?? this.#placeCount++;
    this.#lastUse = this.#lastUse === USE_MAX ? 1 : this.#lastUse + 1;
    return ((this.#lastUse << 16) | place) >>> 0;
  }

  giveBack(stream: number): void {
    this.#freePlaces.push(stream & PLACE_MASK);
  }
}

export class StreamTable<Member extends { readonly stream: number }> {
  readonly #members: (Member | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(stream: number): Member | undefined {
    const member = this.#members[stream & PLACE_MASK];
    return member?.stream === stream ? member : undefined;
  }

  /** @returns false when its place is taken. */
  add(member: Member): boolean {
    const place = member.stream & PLACE_MASK;
    if (this.#members[place] !== undefined) return false;
    // Without holes, or the array would become a table of keys like any other.
    while (this.#members.length < place) this.#members.push(undefined);
    this.#members[place] = member;
    this.#size += 1;
    return true;
  }

  delete(stream: number): void {
    if (this.get(stream) === undefined) return;
    this.#members[stream & PLACE_MASK] = undefined;
    this.#size -= 1;
  }

  /** Those that are there now. */
  values(): Member[] {
    return this.#members.filter((member) => member !== undefined);
  }

  clear(): void {
    this.#members.length = 0;
    this.#size = 0;
  }
}
