// The interface through which parts of a session count bytes in their subject's share of session memory.
export interface SessionShare {
  hasRoomFor(bytes: number): boolean;
  keep(bytes: number): void;
  drop(bytes: number): void;
}
