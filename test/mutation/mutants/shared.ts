// Slips in shares, queues and memory: in what keeps one subject from harming the others.
import { mutantsOf, type Mutant } from '../mutant.js';

export const sharedMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/shared/bounded-counts.ts',
    ['shared/bounded-counts'],
    [
      { slip: 'one key may have all', text: ' || count >= this.#bounds.perKeyMax) return', becomes: ') return' },
      { slip: 'all have no bound together', text: 'this.#total >= this.#bounds.totalMax || ', becomes: '' },
      { slip: 'what is over counts in total', text: '    this.#total -= 1;', becomes: '' },
      { slip: 'what is over counts for its key', text: 'this.#counts.set(key, count - 1);', becomes: '{}' },
    ],
  ),
  ...mutantsOf(
    'src/shared/fair-turns.ts',
    ['shared/fair-turns'],
    [
      { slip: 'all pass', text: 'if (this.#left === 0 && !this.#hasTime()) return false;', becomes: '' },
      { slip: 'a turn never begins', after: 'nowMs + this.#rules.turnMs;', text: 'this.#plan();', becomes: '' },
      { slip: 'time never runs out', text: '} else if (nowMs >= this.#endMs) {', becomes: '} else if (nowMs < 0) {' },
      {
        slip: 'all that wait are served in one turn',
        text: 'while (this.#nowMs() < endMs);',
        becomes: 'while (true);',
      },
      {
        slip: 'who comes new overtakes who waits',
        text: '      else this.#left =',
        becomes: '      this.#left =',
      },
      {
        slip: 'what passes waits',
        text: 'if (this.tryPass() || !(this.wait(key, task) instanceof FairPlace)) task();',
        becomes: 'if (!(this.wait(key, task) instanceof FairPlace)) task();',
      },
      {
        slip: 'what finds no room is not done',
        text: 'if (this.tryPass() || !(this.wait(key, task) instanceof FairPlace)) task();',
        becomes: 'if (this.tryPass()) task();\n    else this.wait(key, task);',
      },
    ],
  ),
  ...mutantsOf(
    'src/protocol/reading-queue.ts',
    ['protocol/reading-queue'],
    [
      { slip: 'all subjects stand in one line', text: 'line.subject === subject', becomes: 'true' },
      {
        slip: 'one subject may begin all that may be begun',
        text: ' && startedCount < limits.readingsStartedPerSubjectMax',
        becomes: '',
      },
      {
        slip: 'the first line has all turns',
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
        slip: "the last of a subject's share is not given",
        text: "if (this.#held + amount > this.#share.bounds.subjectMax) return 'subjectMax';",
        becomes: "if (this.#held + amount >= this.#share.bounds.subjectMax) return 'subjectMax';",
      },
      {
        slip: 'a subject has all of the total',
        text: "if (this.#held + amount > this.#share.bounds.subjectMax) return 'subjectMax';",
        becomes: "if (this.#held + amount > this.#share.bounds.totalMax) return 'subjectMax';",
      },
      {
        slip: 'the last of what is not kept is not given',
        text: 'if (after <= totalMax - this.#kept) return true;',
        becomes: 'if (after < totalMax - this.#kept) return true;',
      },
      {
        slip: 'what is kept is given to whoever comes',
        text: ' && (own + amount) * 4 * this.#holderCount <= this.#kept',
        becomes: '',
      },
      { slip: 'who holds little holds nothing', text: '(own + amount) * 4', becomes: 'amount * 4' },
      { slip: 'who has given all back counts as a holder', text: 'this.#share.addHolders(-1);', becomes: '' },
      {
        slip: 'what is refused is taken',
        text: 'if (bound === undefined) this.take(amount);',
        becomes: 'this.take(amount);',
      },
      { slip: 'what is given back stays counted in total', text: 'this.#share.add(-amount);', becomes: '' },
      {
        slip: 'an account is forgotten while it holds something',
        text: 'if (this.#held > 0) return;',
        becomes: '',
      },
      {
        slip: 'more may be given back than was taken',
        text: "assert(this.#held >= 0, 'nobody gives back what was not taken');",
        becomes: '',
      },
      {
        slip: 'room is judged by the total alone',
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
        slip: 'accounts of those who hold nothing are kept',
        text: 'if (this.#heldCount === 0) this.#accounts.delete(this.subject);',
        becomes: '',
      },
      {
        slip: 'lists are counted with answers',
        text: 'this.listBytes = new Holding(shares.listBytes, this);',
        becomes: 'this.listBytes = new Holding(shares.answerBytes, this);',
      },
      {
        slip: 'requests are counted with answers',
        text: 'this.requestBytes = new Holding(shares.requestBytes, this);',
        becomes: 'this.requestBytes = new Holding(shares.answerBytes, this);',
      },
      {
        slip: 'a subject has two accounts',
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
        slip: 'one more of a key than may wait',
        text: 'known.count >= this.#bounds.itemsPerKeyMax',
        becomes: 'known.count > this.#bounds.itemsPerKeyMax',
      },
      {
        slip: 'one more of all than may wait',
        text: 'if (this.#count >= this.#bounds.itemsMax)',
        becomes: 'if (this.#count > this.#bounds.itemsMax)',
      },
      {
        slip: 'what comes for a held key gives it turns',
        text: 'if (!line.isHeld && !line.isLinked) this.#round.append(line);',
        becomes: 'if (!line.isLinked) this.#round.append(line);',
      },
      {
        slip: 'a line keeps its turn until it is empty',
        text: '// First moved to the end of the round: `#takeFirst` removes the line when it is empty.',
        becomes: 'return this.#takeFirst(line);',
      },
      {
        slip: 'a held line goes on having turns',
        text: 'line.isHeld = true;',
        becomes: 'line.isHeld = true; if (line.count > 0) return;',
      },
      {
        slip: 'a key that is let go has two places in the round',
        text: 'if (line?.isHeld !== true) return;',
        becomes: 'if (line === undefined) return;',
      },
      {
        slip: 'a key that is let go with nothing waiting is kept',
        text: 'else this.#lines.delete(key);',
        becomes: '',
      },
      {
        slip: 'who leaves goes on being counted',
        text: '    this.#count -= 1;',
        becomes: '',
      },
      {
        slip: "who leaves goes on being counted in the key's line",
        text: '    line.count -= 1;',
        becomes: '',
      },
      {
        slip: 'who leaves twice is counted twice',
        text: 'if (this.isLinked) this.#leave(this);',
        becomes: 'this.#leave(this);',
      },
      {
        slip: 'an empty line is forgotten although it is held',
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
        slip: "who comes later goes before its subject's others",
        text: "if (this.#queue.countOf(subject) > 0) return 'subjectMax';",
        becomes: '',
      },
      {
        slip: 'who comes later goes before others who wait',
        text: "return this.#next !== undefined || this.#queue.hasTurn ? 'totalMax' : undefined;",
        becomes: 'return undefined;',
      },
      {
        slip: 'who waits at the head is forgotten',
        text: "return this.#next !== undefined || this.#queue.hasTurn ? 'totalMax' : undefined;",
        becomes: "return this.#queue.hasTurn ? 'totalMax' : undefined;",
      },
      {
        slip: 'a subject at its share is never let go',
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
        slip: 'who leaves the head keeps it',
        text: 'if (this.#next !== hold) return;',
        becomes: 'if (this.#next === hold || this.#next === undefined) return;',
      },
      {
        slip: 'what no message can ever have is waited for',
        text: "if (bytes > bytesMax) return 'subjectMax';",
        becomes: '',
      },
      {
        slip: 'a message may not be as large as its share',
        text: "if (bytes > bytesMax) return 'subjectMax';",
        becomes: "if (bytes >= bytesMax) return 'subjectMax';",
      },
      {
        slip: 'a wish counts beyond the share',
        text: 'Math.max(bytes, Math.min(wishedBytes, bytesMax)) - this.#heldBytes;',
        becomes: 'Math.max(bytes, wishedBytes) - this.#heldBytes;',
      },
      {
        slip: 'what is held already counts once more',
        text: 'Math.max(bytes, Math.min(wishedBytes, bytesMax)) - this.#heldBytes;',
        becomes: 'Math.max(bytes, Math.min(wishedBytes, bytesMax));',
      },
      {
        slip: 'who waits waits for ever',
        text: 'this.#deadline = this.#memory.after(limits.messageWaitMsMax, () => this.#onTimeUp());',
        becomes: '',
      },
      { slip: 'who was granted is refused later', text: 'this.#deadline?.cancel();', becomes: '' },
      { slip: 'who waits no more keeps its place', text: 'this.#place?.leave();', becomes: '' },
      {
        slip: 'what a message held is never given back',
        text: 'if (bytes > 0) this.#memory.give(this.subject, bytes);',
        becomes: '',
      },
      { slip: 'what a message held is given back twice', text: 'this.#heldBytes = 0;', becomes: '' },
      {
        slip: 'a released message goes on waiting',
        text: '  release(): void {',
        becomes: '  release(): void { if (this.isWaiting) return;',
      },
      { slip: 'what was granted is not given back', text: 'this.#heldBytes += this.wantedBytes;', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/shared/recent-map.ts',
    ['shared/recent-map'],
    [
      {
        slip: 'one entry more than may be',
        text: 'if (this.#young.size >= this.#entriesPerGeneration',
        becomes: 'if (this.#young.size > this.#entriesPerGeneration',
      },
      { slip: 'what is used is not kept', text: 'if (old !== undefined) this.set(key, old);', becomes: '' },
      { slip: 'what was replaced goes on counting', text: 'this.#youngBytes -= this.#bytesOf(young);', becomes: '' },
      { slip: 'bytes of the last generation count in the next', text: '      this.#youngBytes = 0;', becomes: '' },
      {
        slip: 'what was deleted comes back from the old generation',
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
        slip: 'a line is told on the last millisecond of its rest',
        text: 'nowMs - known.loggedAtMs < limits.failureLogIntervalMs',
        becomes: 'nowMs - known.loggedAtMs <= limits.failureLogIntervalMs',
      },
      { slip: 'lines that were not told are not counted', text: 'known.unloggedCount += 1;', becomes: '' },
      {
        slip: 'kinds are kept without bound',
        text: 'if (oldest !== undefined) this.#kinds.delete(oldest);',
        becomes: '',
      },
      { slip: 'the kind told last is forgotten first', text: '    this.#kinds.delete(kind);', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/shared/host-policy.ts',
    ['shared/host-policy'],
    [
      {
        slip: 'a page may come from any host on loopback',
        text: '&& isLoopbackName(withoutPort(host.toLowerCase()));',
        becomes: ';',
      },
      {
        slip: 'verdicts are kept without bound',
        text: 'if (this.#verdicts.size >= limits.hostVerdictsMax) this.#verdicts.clear();',
        becomes: '',
      },
      {
        slip: 'an origin without a scheme of the web passes',
        text: '/^https?:\\/\\/([^/]+)$/',
        becomes: '/^\\w+:\\/\\/([^/]+)$/',
      },
      {
        slip: 'a port may be anything',
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
        slip: 'a folder that others may read is private',
        text: '(stats.mode & 0o077) === 0',
        becomes: '(stats.mode & 0o022) === 0',
      },
      { slip: "somebody else's folder is private", text: ' && stats.uid === process.getuid?.()', becomes: '' },
      { slip: 'others may connect', text: 'await chmod(preparedPath, 0o600);', becomes: '' },
      { slip: 'a socket that was removed is not missed', text: 'await this.#renew();', becomes: '' },
      { slip: 'the same fault is told each time', text: 'if (fault === this.#lastFault) return;', becomes: '' },
      { slip: 'the path is looked at once', text: 'if (!this.#isClosed) this.#scheduleCheck();', becomes: '' },
      { slip: 'any number may connect', text: 'server.maxConnections = this.#options.connectionsMax;', becomes: '' },
    ],
  ),
];
