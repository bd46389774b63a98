// The confirmation of an action that cannot be undone. The browser's own dialog keeps the focus inside, and Escape means no.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface ConfirmationProps {
  readonly title: string;
  readonly action: string;
  readonly children: ComponentChildren;
  readonly onAnswer: (isMeant: boolean) => void;
}

export function Confirmation({ title, action, children, onAnswer }: ConfirmationProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="confirmation" onCancel={() => onAnswer(false)}>
      <h2 id="confirmation">{title}</h2>
      {children}
      <div class="actions">
        <button type="button" onClick={() => onAnswer(false)}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={() => onAnswer(true)}>
          {action}
        </button>
      </div>
    </dialog>
  );
}
