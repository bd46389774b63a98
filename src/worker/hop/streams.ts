// The streams of a link: their numbers, and the object behind each. Not a `Map`, because streams come and go with every hop
// (fair/list-node.ts describes that cost): a number holds an array index, and a use count of that index. Hot path.
//
//   stream = use (u16, from 1) · place (u16)

const PLACE_MASK = 0xffff;
const USE_MAX = 0xffff;

/** The most streams that can be open at once. */
export const STREAMS_MAX = PLACE_MASK + 1;

/**
 * Hands out stream numbers, never 0. A number is reused only after at least 65,535 others. By then every frame with that number has
 * arrived, because a link keeps order and each of the others was answered over it.
 */
export class StreamNumbers {
  /** Last freed, first reused, so that the tables at both ends stay short. */
  readonly #freePlaces: number[] = [];
  #placeCount = 0;
  #lastUse = 0;

  /** At most `STREAMS_MAX` numbers may be in use. */
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

  /** @returns false when the member's array index is taken. */
  add(member: Member): boolean {
    const place = member.stream & PLACE_MASK;
    if (this.#members[place] !== undefined) return false;
    // Fills the gap: an array with holes would become a dictionary, as slow as a `Map`.
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

  /** A snapshot of the members. */
  values(): Member[] {
    return this.#members.filter((member) => member !== undefined);
  }

  clear(): void {
    this.#members.length = 0;
    this.#size = 0;
  }
}
