// Doubly linked lists whose members hold the links, for objects that come and go with every request. A `Map` or `Set` would keep such
// objects alive: V8 replaces its table every few changes, and each old table refers to the next. Once an old table is in the old
// generation, all later tables and their contents live until the next full garbage collection.

/** A node of a circular list. A bare `ListNode` is the head. A node that points to itself is in no list. */
export class ListNode {
  next: ListNode;
  previous: ListNode;

  constructor() {
    this.next = this;
    this.previous = this;
  }

  /** For a head, whether there are members; for a member, whether it is in a list. */
  get isLinked(): boolean {
    return this.next !== this;
  }

  /** Adds a member at the end. Called on the head of a list. */
  append(link: ListNode): void {
    link.previous = this.previous;
    link.next = this;
    this.previous.next = link;
    this.previous = link;
  }

  /** Moves all members of the other list to the end of this one. Called on a head. */
  takeAll(head: ListNode): void {
    if (!head.isLinked) return;
    head.next.previous = this.previous;
    this.previous.next = head.next;
    head.previous.next = this;
    this.previous = head.previous;
    head.next = head;
    head.previous = head;
  }

  unlink(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.next = this;
    this.previous = this;
  }
}
