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
      `has ${odd}: Claude Desktop and OpenAI models accept only A–Z a–z 0–9 _ - and leave out all tools if one has such a name`,
    );
  }
  if (name.length > NAME_CHARS_MAX) {
    faults.push(`has ${name.length} characters: Claude Desktop, VS Code and models of OpenAI take ${NAME_CHARS_MAX}`);
  } else if (name.length + serverName.length + 1 > CURSOR_CHARS_MAX) {
    const sum = name.length + serverName.length + 1;
    faults.push(
      `has ${sum} characters together with the server’s name: Cursor leaves out tools with more than ${CURSOR_CHARS_MAX}`,
    );
  }
  if (name === '') faults.push('is empty');
  return faults;
}
