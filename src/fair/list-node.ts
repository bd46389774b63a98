// Doubly linked lists whose members carry their own links. Objects that come and go with every request are kept in such lists, not in a
// `Map` or `Set`: those replace their table every few changes, and in V8 each old table refers to the next one. Once one table is in the
// old generation, all later tables and all that they held stay alive until the next full garbage collection.

/** A node in a circular list. A bare `ListNode` is the head of a list; a node that points to itself is in no list. */
export class ListNode {
  next: ListNode;
  previous: ListNode;

  constructor() {
    this.next = this;
    this.previous = this;
  }

  /** On a head: whether the list has members. On a member: whether it is in a list. */
  get isLinked(): boolean {
    return this.next !== this;
  }

  /** On a head: adds `link` at the end of the list. */
  append(link: ListNode): void {
    link.previous = this.previous;
    link.next = this;
    this.previous.next = link;
    this.previous = link;
  }

  /** On a head: moves all members of the other head's list to the end of this one. */
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
