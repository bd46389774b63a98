// Slips in shares, queues and memory: in what keeps one subject from harming the others.
import { mutantsOf, type Mutant } from '../mutant.js';

export const sharedMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/shared/bounded-counts.ts',
    ['shared/bounded-counts'],
    [
      {
        slip: 'one key may take all of the total',
        text: ' || count >= this.#bounds.perKeyMax) return',
        becomes: ') return',
      },
      { slip: 'the total of all keys has no bound', text: 'this.#total >= this.#bounds.totalMax || ', becomes: '' },
      { slip: 'what has ended still counts in the total', text: '    this.#total -= 1;', becomes: '' },
      { slip: 'what has ended still counts for its key', text: 'this.#counts.set(key, count - 1);', becomes: '{}' },
    ],
  ),
  ...mutantsOf(
    'src/shared/fair-turns.ts',
    ['shared/fair-turns'],
    [
      {
        slip: 'every task passes without waiting',
        text: 'if (this.#left === 0 && !this.#hasTime()) return false;',
        becomes: '',
      },
      {
        slip: 'no turn is planned, so the time for passing never starts anew',
        after: 'nowMs + this.#rules.turnMs;',
        text: 'this.#plan();',
        becomes: '',
      },
      {
        slip: 'the time for passing never runs out',
        text: '} else if (nowMs >= this.#endMs) {',
        becomes: '} else if (nowMs < 0) {',
      },
      {
        slip: 'all waiting tasks are served in one turn',
        text: 'while (this.#nowMs() < endMs);',
        becomes: 'while (true);',
      },
      {
        slip: 'a new task overtakes those that wait',
        text: '      else this.#left =',
        becomes: '      this.#left =',
      },
      {
        slip: 'a task that may pass waits all the same',
        text: 'if (this.tryPass() || !(this.wait(key, task) instanceof FairPlace)) task();',
        becomes: 'if (!(this.wait(key, task) instanceof FairPlace)) task();',
      },
      {
        slip: 'a task that finds no room in the queue is never run',
        text: 'if (this.tryPass() || !(this.wait(key, task) instanceof FairPlace)) task();',
        becomes: 'if (this.tryPass()) task();\n    else this.wait(key, task);',
      },
    ],
  ),
  ...mutantsOf(
    'src/protocol/reading-queue.ts',
    ['protocol/reading-queue'],
    [
      { slip: 'all subjects share one line', text: 'line.subject === subject', becomes: 'true' },
      {
        slip: 'one subject may start all the readings that may be started',
        text: ' && startedCount < limits.readingsStartedPerSubjectMax',
        becomes: '',
      },
      {
        slip: 'the first line gets all turns',
        text: 'if (line !== undefined) this.#lines.push(line);',
        becomes: 'if (line !== undefined) this.#lines.unshift(line);',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/share.ts',
    ['shared/share'],
    [
      {
        slip: "the last unit of a subject's share is never given",
        text: "if (this.#held + amount > this.#share.bounds.subjectMax) return 'subjectMax';",
        becomes: "if (this.#held + amount >= this.#share.bounds.subjectMax) return 'subjectMax';",
      },
      {
        slip: 'a subject may hold the total of a share',
        text: "if (this.#held + amount > this.#share.bounds.subjectMax) return 'subjectMax';",
        becomes: "if (this.#held + amount > this.#share.bounds.totalMax) return 'subjectMax';",
      },
      {
        slip: 'the last unit outside the reserve is given only like the reserve',
        text: 'if (after <= totalMax - this.#kept) return true;',
        becomes: 'if (after < totalMax - this.#kept) return true;',
      },
      {
        slip: 'the reserve is given to any subject, however much it holds',
        text: ' && (own + amount) * 4 * this.#holderCount <= this.#kept',
        becomes: '',
      },
      { slip: 'the reserve ignores what a subject already holds', text: '(own + amount) * 4', becomes: 'amount * 4' },
      {
        slip: 'a subject that has given everything back still counts as a holder',
        text: 'this.#share.addHolders(-1);',
        becomes: '',
      },
      {
        slip: 'an amount that is refused is taken all the same',
        text: 'if (bound === undefined) this.take(amount);',
        becomes: 'this.take(amount);',
      },
      { slip: 'what is given back still counts in the total', text: 'this.#share.add(-amount);', becomes: '' },
      {
        slip: 'an account is told that all was given back while something is still held',
        text: 'if (this.#held > 0) return;',
        becomes: '',
      },
      {
        slip: 'giving back more than was taken goes unnoticed',
        text: "assert(this.#held >= 0, 'nobody gives back what was not taken');",
        becomes: '',
      },
      {
        slip: 'the room of an empty share is judged by the total alone',
        text: 'return Math.min(subjectMax, totalMax);',
        becomes: 'return totalMax;',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/accounts.ts',
    ['shared/share'],
    [
      {
        slip: 'an account is forgotten while one of its shares is held',
        text: 'if (this.#heldCount === 0) this.#accounts.delete(this.subject);',
        becomes: 'this.#accounts.delete(this.subject);',
      },
      {
        slip: 'an account that holds nothing is kept',
        text: 'if (this.#heldCount === 0) this.#accounts.delete(this.subject);',
        becomes: '',
      },
      {
        slip: 'bytes of lists are counted in the share of answers',
        text: 'this.listBytes = new Holding(shares.listBytes, this);',
        becomes: 'this.listBytes = new Holding(shares.answerBytes, this);',
      },
      {
        slip: 'bytes of requests are counted in the share of answers',
        text: 'this.requestBytes = new Holding(shares.requestBytes, this);',
        becomes: 'this.requestBytes = new Holding(shares.answerBytes, this);',
      },
      {
        slip: "each request for a subject's account creates another one",
        text: 'return this.#accounts.get(subject) ?? new Account',
        becomes: 'return new Account',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/fair-queue.ts',
    ['shared/fair-queue'],
    [
      {
        slip: 'one item more than the limit may wait under a key',
        text: 'known.count >= this.#bounds.itemsPerKeyMax',
        becomes: 'known.count > this.#bounds.itemsPerKeyMax',
      },
      {
        slip: 'one item more than the limit of the whole queue may wait',
        text: 'if (this.#count >= this.#bounds.itemsMax)',
        becomes: 'if (this.#count > this.#bounds.itemsMax)',
      },
      {
        slip: 'a new item under a held key gives the key turns',
        text: 'if (!line.isHeld && !line.isLinked) this.#round.append(line);',
        becomes: 'if (!line.isLinked) this.#round.append(line);',
      },
      {
        slip: 'a key keeps its turn until nothing waits under it',
        text: '// First moved to the end of the round: `#takeFirst` removes the line when it is empty.',
        becomes: 'return this.#takeFirst(line);',
      },
      {
        slip: 'a key with waiting items keeps its turns when it is held',
        text: 'line.isHeld = true;',
        becomes: 'line.isHeld = true; if (line.count > 0) return;',
      },
      {
        slip: 'letting go a key that was not held puts it into the round a second time',
        text: 'if (line?.isHeld !== true) return;',
        becomes: 'if (line === undefined) return;',
      },
      {
        slip: 'a key that is let go with nothing waiting is not removed',
        text: 'else this.#lines.delete(key);',
        becomes: '',
      },
      {
        slip: 'an item that leaves still counts in the whole queue',
        text: '    this.#count -= 1;',
        becomes: '',
      },
      {
        slip: "an item that leaves still counts in its key's line",
        text: '    line.count -= 1;',
        becomes: '',
      },
      {
        slip: 'an item that leaves twice is subtracted twice',
        text: 'if (this.isLinked) this.#leave(this);',
        becomes: 'this.#leave(this);',
      },
      {
        slip: 'a held key is forgotten when nothing waits under it',
        text: 'if (!line.isHeld) this.#lines.delete(line.key);',
        becomes: 'this.#lines.delete(line.key);',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/message-memory.ts',
    ['shared/message-memory'],
    [
      {
        slip: 'a later message overtakes waiting messages of its own subject',
        text: "if (this.#queue.countOf(subject) > 0) return 'subjectMax';",
        becomes: '',
      },
      {
        slip: 'a later message overtakes waiting messages of other subjects',
        text: "return this.#next !== undefined || this.#queue.hasTurn ? 'totalMax' : undefined;",
        becomes: 'return undefined;',
      },
      {
        slip: 'a later message overtakes the one at the head of the queue',
        text: "return this.#next !== undefined || this.#queue.hasTurn ? 'totalMax' : undefined;",
        becomes: "return this.#queue.hasTurn ? 'totalMax' : undefined;",
      },
      {
        slip: 'a subject that was held back at its share is never let go',
        text: 'this.#queue.letGo(subject);',
        becomes: '',
      },
      {
        slip: 'a subject at its share is not held back',
        text: "if (bound === 'subjectMax' && this.#holding(hold.subject).held > 0) this.#queue.hold(hold.subject);",
        becomes: '',
      },
      {
        slip: 'a subject that holds nothing is held back, and never let go',
        text: "if (bound === 'subjectMax' && this.#holding(hold.subject).held > 0) this.#queue.hold(hold.subject);",
        becomes: "if (bound === 'subjectMax') this.#queue.hold(hold.subject);",
      },
      {
        slip: 'a message that stops waiting stays at the head of the queue',
        text: 'if (this.#next !== hold) return;',
        becomes: 'if (this.#next === hold || this.#next === undefined) return;',
      },
      {
        slip: 'a message too large for its share waits instead of being refused',
        text: "if (bytes > bytesMax) return 'subjectMax';",
        becomes: '',
      },
      {
        slip: 'a message exactly as large as its share is refused',
        text: "if (bytes > bytesMax) return 'subjectMax';",
        becomes: "if (bytes >= bytesMax) return 'subjectMax';",
      },
      {
        slip: 'the wished bytes of a message may exceed the share',
        text: 'Math.max(bytes, Math.min(wishedBytes, bytesMax)) - this.#heldBytes;',
        becomes: 'Math.max(bytes, wishedBytes) - this.#heldBytes;',
      },
      {
        slip: 'bytes that a message already holds are taken again when it grows',
        text: 'Math.max(bytes, Math.min(wishedBytes, bytesMax)) - this.#heldBytes;',
        becomes: 'Math.max(bytes, Math.min(wishedBytes, bytesMax));',
      },
      {
        slip: 'a message waits for memory without a time limit',
        text: 'this.#deadline = this.#memory.after(limits.messageWaitMsMax, () => this.#onTimeUp());',
        becomes: '',
      },
      { slip: 'a wait that was granted still runs into its deadline', text: 'this.#deadline?.cancel();', becomes: '' },
      {
        slip: 'a message that no longer waits keeps its place in the queue',
        text: 'this.#place?.leave();',
        becomes: '',
      },
      {
        slip: 'what a message held is never given back',
        text: 'if (bytes > 0) this.#memory.give(this.subject, bytes);',
        becomes: '',
      },
      { slip: 'what a message held is given back twice', text: 'this.#heldBytes = 0;', becomes: '' },
      {
        slip: 'a message that is released while it waits goes on waiting',
        text: '  release(): void {',
        becomes: '  release(): void { if (this.isWaiting) return;',
      },
      {
        slip: 'bytes that were granted to a waiting message are never given back',
        text: 'this.#heldBytes += this.wantedBytes;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/recent-map.ts',
    ['shared/recent-map'],
    [
      {
        slip: 'one entry more than the limit is kept in a generation',
        text: 'if (this.#young.size >= this.#entriesPerGeneration',
        becomes: 'if (this.#young.size > this.#entriesPerGeneration',
      },
      {
        slip: 'an entry that is used does not move to the young generation',
        text: 'if (old !== undefined) this.set(key, old);',
        becomes: '',
      },
      {
        slip: 'the bytes of a replaced entry still count',
        text: 'this.#youngBytes -= this.#bytesOf(young);',
        becomes: '',
      },
      { slip: 'the bytes of the last generation count in the next', text: '      this.#youngBytes = 0;', becomes: '' },
      {
        slip: 'a deleted entry stays in the old generation',
        text: 'this.#old.delete(key);',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/repeated-log.ts',
    ['shared/repeated-log'],
    [
      {
        slip: 'a line is still suppressed when the interval has just ended',
        text: 'nowMs - known.loggedAtMs < limits.failureLogIntervalMs',
        becomes: 'nowMs - known.loggedAtMs <= limits.failureLogIntervalMs',
      },
      { slip: 'suppressed lines are not counted', text: 'known.unloggedCount += 1;', becomes: '' },
      {
        slip: 'the number of remembered kinds has no bound',
        text: 'if (oldest !== undefined) this.#kinds.delete(oldest);',
        becomes: '',
      },
      { slip: 'the kind that was logged last is forgotten first', text: '    this.#kinds.delete(kind);', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/shared/host-policy.ts',
    ['shared/host-policy'],
    [
      {
        slip: 'a page on loopback is allowed to call any host, not only loopback',
        text: '&& isLoopbackName(withoutPort(host.toLowerCase()));',
        becomes: ';',
      },
      {
        slip: 'the number of remembered verdicts has no bound',
        text: 'if (this.#verdicts.size >= limits.hostVerdictsMax) this.#verdicts.clear();',
        becomes: '',
      },
      {
        slip: 'an origin with a scheme other than http or https is accepted',
        text: '/^https?:\\/\\/([^/]+)$/',
        becomes: '/^\\w+:\\/\\/([^/]+)$/',
      },
      {
        slip: 'anything behind a colon counts as a port',
        text: "authority.replace(/:\\d*$/, '')",
        becomes: "authority.replace(/:.*$/, '')",
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/standing-socket.ts',
    ['shared/standing-socket'],
    [
      {
        slip: 'a folder that others may read counts as private',
        text: '(stats.mode & 0o077) === 0',
        becomes: '(stats.mode & 0o022) === 0',
      },
      { slip: "another user's folder counts as private", text: ' && stats.uid === process.getuid?.()', becomes: '' },
      { slip: 'other users may connect to the socket', text: 'await chmod(preparedPath, 0o600);', becomes: '' },
      { slip: 'a socket whose file was removed is not renewed', text: 'await this.#renew();', becomes: '' },
      { slip: 'the same fault is reported at each check', text: 'if (fault === this.#lastFault) return;', becomes: '' },
      { slip: 'the path is checked only once', text: 'if (!this.#isClosed) this.#scheduleCheck();', becomes: '' },
      {
        slip: 'the number of connections has no bound',
        text: 'server.maxConnections = this.#options.connectionsMax;',
        becomes: '',
      },
    ],
  ),
];
