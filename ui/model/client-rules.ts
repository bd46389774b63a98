// What widespread clients require of names. A name that breaks a rule is served all the same: the console says whose rule it breaks, and
// what that client does with it.

const CHARS = /^[A-Za-z0-9_-]*$/;
const NAME_CHARS_MAX = 64;
/** Counted together with the server's name in the settings, and one separator. */
const CURSOR_CHARS_MAX = 60;

/** @param serverName its name in clients' settings. @returns faults as phrases that follow "this name"; empty when there are none. */
export function nameFaults(name: string, serverName: string): readonly string[] {
  const faults: string[] = [];
  const odd = [...new Set(name.replaceAll(/[A-Za-z0-9_-]/g, ''))]
    .slice(0, 5)
    .map((char) => (char === ' ' ? 'a space' : char))
    .join(' ');
  if (!CHARS.test(name)) {
    faults.push(
      `has ${odd}: Claude Desktop takes A–Z a–z 0–9 _ - alone and leaves out all tools for one such name, and so do models of OpenAI`,
    );
  }
  if (name.length > NAME_CHARS_MAX) {
    faults.push(`has ${name.length} characters: Claude Desktop, VS Code and models of OpenAI take ${NAME_CHARS_MAX}`);
  } else if (name.length + serverName.length + 1 > CURSOR_CHARS_MAX) {
    const sum = name.length + serverName.length + 1;
    faults.push(
      `has ${sum} characters with the server’s ahead of it: Cursor leaves out what has over ${CURSOR_CHARS_MAX}`,
    );
  }
  if (name === '') faults.push('is empty');
  return faults;
}
