// What parts of a session see of its subject's share of session bytes.
export interface SessionShare {
  hasRoomFor(bytes: number): boolean;
  keep(bytes: number): void;
  drop(bytes: number): void;
}
