// Doubly linked lists whose members carry their own place. What comes and goes with every request is kept in these and
// not in a `Map` or `Set`: those make a new table every few changes, and the engine lets every old table hold the next
// one. Once one of them has grown old, all after it, with all that they held, live until the next full collection.

/** A place in a circular list. A bare `ListNode` is the head of one; a node that points to itself is in none. */
export class ListNode {
  next: ListNode;
  previous: ListNode;

  constructor() {
    this.next = this;
    this.previous = this;
  }

  /** Of a head: whether there is anything in the list. */
  get isLinked(): boolean {
    return this.next !== this;
  }

  /** On the head: `link` becomes the last of the list. */
  append(link: ListNode): void {
    link.previous = this.previous;
    link.next = this;
    this.previous.next = link;
    this.previous = link;
  }

  /** On the head: everything in the other head's list is appended to this one. */
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
