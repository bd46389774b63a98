// Goes anywhere and does the usual by keyboard: Ctrl+K or Cmd+K opens a search over pages, actions, servers and compositions.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { choicesFor, type Choice } from '../model/choices.js';
import { plainText } from '../model/plain-text.js';
import { Icon } from './icon.js';

const isOpen = signal(false);

/** The browser's own name for the key, as people know it. */
const KEYS = /Mac|iP(?:hone|ad)/.test(navigator.platform) ? '⌘ K' : 'Ctrl K';

export function openPalette(): void {
  isOpen.value = true;
}

export function PaletteButton(): JSX.Element {
  return (
    <button type="button" class="find" aria-keyshortcuts="Control+K Meta+K" onClick={openPalette}>
      <Icon name="search" />
      <span>Search</span>
      <kbd aria-hidden="true">{KEYS}</kbd>
    </button>
  );
}

interface PaletteProps {
  /** A hook: what it reads is read when the palette opens. */
  readonly useChoices: () => readonly Choice[];
}

export function Palette({ useChoices }: PaletteProps): JSX.Element | null {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      // A question that stands open comes first.
      if (!isOpen.value && document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      isOpen.value = !isOpen.value;
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  return isOpen.value ? <PaletteDialog useChoices={useChoices} /> : null;
}

function PaletteDialog({ useChoices }: PaletteProps): JSX.Element {
  const choices = useChoices();
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [, navigate] = useLocation();
  const found = useMemo(() => choicesFor(choices, text), [choices, text]);
  // Before the next picture: the first letters may come before it.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    return () => void (isOpen.value = false);
  }, []);
  useEffect(
    () => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }),
    [at, found],
  );
  const close = (): void => {
    dialog.current?.close();
    isOpen.value = false;
  };
  const take = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    close();
    if (choice.act !== undefined) choice.act();
    else navigate(choice.page);
  };
  const onKey = (event: JSX.TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((at + step + found.length) % found.length);
    } else if (event.key === 'Escape') {
      // The browser would only empty the field.
      event.preventDefault();
      close();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      // Who types fast and presses Enter means what is typed, not what was drawn last.
      const typed = event.currentTarget.value;
      take(typed === text ? found[at] : choicesFor(choices, typed)[0]);
    }
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search"
      onCancel={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="palette-parts">
        <input
          type="search"
          role="combobox"
          aria-label="Search pages, servers, compositions and actions"
          aria-expanded="true"
          aria-controls="choices"
          aria-activedescendant={found.length > 0 ? `choice-${at}` : undefined}
          autocomplete="off"
          spellcheck={false}
          placeholder="Search pages, servers, compositions …"
          value={text}
          autofocus
          onInput={({ currentTarget: { value } }) => {
            setText(value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
        <ul id="choices" role="listbox" aria-label="Choices" ref={list}>
          {found.map((choice, index) => (
            // Pressing it must not take the focus from the field.
            <li
              key={choice.key}
              id={`choice-${index}`}
              role="option"
              aria-selected={index === at}
              onMouseMove={() => index !== at && setAt(index)}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(choice)}
            >
              <Icon name={choice.icon} />
              <span class="name">{plainText(choice.name, 100).text}</span>
              <span class="note">{choice.kind}</span>
            </li>
          ))}
        </ul>
      </div>
    </dialog>
  );
}
