// A text field that suggests names of the network while one types.

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { get, path } from './api';

/** Maximum number of suggestions in view. */
const SUGGESTED = 12;
/** Time without input after which names are requested. */
const CALM_MS = 120;

interface Name { kind: string; name: string }

/** A combobox (ARIA authoring practices): arrow keys choose, Enter accepts, Escape closes. With `isMany`, names are
 * separated by spaces, and suggestions complete the last one. `onDone` has the name once it is chosen or complete. */
export function Combo({ id, value, onChange, onDone, kinds, isMany, placeholder }: {
  id: string; value: string; onChange: (value: string) => void; onDone?: (value: string) => void; kinds: string[]; isMany?: boolean; placeholder?: string;
}) {
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [names, setNames] = useState<Name[]>([]);
  const [chosen, setChosen] = useState(-1);
  const prefix = isMany ? value.split(/[\s,]+/).pop() ?? '' : value;
  useEffect(() => {
    if (!isOpen) return;
    const stop = new AbortController();
    const timer = window.setTimeout(() => {
      Promise.all(kinds.map((kind) => get<{ items: Name[] }>(path(['names'], { kind, prefix }), stop.signal).catch(() => ({ items: [] }))))
        .then((answers) => {
          if (stop.signal.aborted) return;
          // One of each kind in turn, so that many hosts do not hide links.
          const all = answers.map((answer) => answer.items);
          const turns = Array.from({ length: SUGGESTED }, (_, at) => all.flatMap((items) => items[at] ?? [])).flat();
          setNames(turns.filter(({ name }) => name !== prefix).slice(0, SUGGESTED));
          setChosen(-1);
        });
    }, CALM_MS);
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [prefix, isOpen, kinds.join()]);
  const accept = (name: string) => {
    const next = isMany ? `${value.slice(0, value.length - prefix.length)}${name} ` : name;
    onChange(next);
    onDone?.(next);
    setNames([]);
    setOpen(isMany ?? false);
    input.current?.focus();
  };
  const isShown = isOpen && names.length > 0;
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!isOpen) return setOpen(true);
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setChosen((at) => (names.length === 0 ? -1 : at < 0 && step < 0 ? names.length - 1 : (at + step + names.length) % names.length));
    } else if (event.key === 'Enter' && isShown && chosen >= 0) {
      event.preventDefault();
      accept(names[chosen]?.name ?? value);
    } else if (event.key === 'Enter' && onDone) {
      event.preventDefault();
      setOpen(false);
      onDone(value);
    } else if (event.key === 'Escape') {
      setOpen(false);
    }
  };
  return (
    <div class="combo">
      <input id={id} ref={input} class={isMany ? 'wide' : undefined} value={value} placeholder={placeholder} autocomplete="off" autocapitalize="off" spellcheck={false}
        role="combobox" aria-autocomplete="list" aria-expanded={isShown} aria-controls={list} aria-activedescendant={isShown && chosen >= 0 ? `${list}-${chosen}` : undefined}
        onInput={(event) => { onChange(event.currentTarget.value); setOpen(true); }} onKeyDown={keys} onBlur={() => { setOpen(false); onDone?.(value); }} />
      <ul id={list} role="listbox" aria-label="Suggestions" class="suggestions" hidden={!isShown}>
        {names.map(({ kind, name }, at) => (
          <li id={`${list}-${at}`} role="option" aria-selected={at === chosen} class={at === chosen ? 'chosen' : ''} onMouseDown={(event) => { event.preventDefault(); accept(name); }}>
            {name} <span class="dim">{kind}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
