// What widespread clients want names to be like. A name that breaks a rule is served all the same: whose rule it breaks is told, and
// what that client makes of it.

const CHARS = /^[A-Za-z0-9_-]*$/;
const NAME_CHARS_MAX = 64;
/** With the name that the server has in its settings, and a character between. */
const CURSOR_CHARS_MAX = 60;

/** @param serverName what clients' settings call the server. @returns what is wrong, in words behind "this name"; none for nothing. */
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
