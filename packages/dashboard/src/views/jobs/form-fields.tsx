/** Fields of the form, each bound to its place in the definition and to what the node says of it. */
import { createContext, type ReactNode, use, useState } from 'react'
import { Field, Input, Select, TextArea } from '../../components/field.tsx'
import { type Definition, type Path, valueAt, withValue } from './definition.ts'
import type { Problems } from './problems.ts'

export interface Editing {
  definition: Definition
  change: (definition: Definition) => void
  problems: Problems
  /** What was typed and cannot be read, by pointer; undefined: it can. */
  broken: (pointer: string, problem: string | undefined) => void
}

export const EditingContext = createContext<Editing | null>(null)

export function useEditing(): Editing {
  return use(EditingContext)!
}

interface Shown {
  label: string
  path: Path
  about?: ReactNode
}

function useField(path: Path) {
  const { definition, change, problems, broken } = useEditing()
  const pointer = `/${path.join('/')}`
  return {
    pointer,
    value: valueAt(definition, path),
    set: (value: unknown) => change(withValue(definition, path, value)),
    problem: problems.get(pointer),
    broken: (problem: string | undefined) => broken(pointer, problem),
  }
}

export function TextField({
  label,
  path,
  about,
  ...rest
}: Shown & { placeholder?: string; list?: string; required?: boolean; className?: string }) {
  const { value, set, problem } = useField(path)
  return (
    <Field label={label} about={about} problem={problem}>
      {(ids) => (
        <Input
          {...ids}
          {...rest}
          autoComplete="off"
          value={typeof value === 'string' ? value : ''}
          onChange={({ target }) => set(target.value === '' ? undefined : target.value)}
        />
      )}
    </Field>
  )
}

export function NumberField({ label, path, about, usual }: Shown & { usual?: number }) {
  const { value, set, problem } = useField(path)
  return (
    <Field label={label} about={about} problem={problem}>
      {(ids) => (
        <Input
          {...ids}
          type="number"
          step="any"
          placeholder={usual === undefined ? undefined : String(usual)}
          value={typeof value === 'number' ? value : ''}
          onChange={({ target }) => set(target.value === '' ? undefined : Number(target.value))}
        />
      )}
    </Field>
  )
}

/** The usual choice is what holds if nothing is said, so it is not written. */
export function ChoiceField({
  label,
  path,
  about,
  usual,
  words,
}: Shown & { usual: string; words: Record<string, string> }) {
  const { value, set, problem } = useField(path)
  return (
    <Field label={label} about={about} problem={problem}>
      {(ids) => (
        <Select
          {...ids}
          value={typeof value === 'string' ? value : usual}
          onChange={({ target }) => set(target.value === usual ? undefined : target.value)}
        >
          {Object.entries(words).map(([word, text]) => (
            <option key={word} value={word}>
              {text}
            </option>
          ))}
        </Select>
      )}
    </Field>
  )
}

/** A value that is written as text of several lines; `read` throws if it cannot be read. */
export function WrittenField({
  label,
  path,
  about,
  rows,
  write,
  read,
}: Shown & { rows: number; write: (value: unknown) => string; read: (text: string) => unknown }) {
  const { value, set, problem, broken } = useField(path)
  const [text, setText] = useState(() => write(value))
  const [wrong, setWrong] = useState<string>()
  const take = (typed: string) => {
    setText(typed)
    let found: string | undefined
    try {
      set(read(typed))
    } catch (error) {
      found = (error as Error).message
    }
    setWrong(found)
    broken(found)
  }
  return (
    <Field label={label} about={about} problem={wrong ?? problem}>
      {(ids) => <TextArea {...ids} rows={rows} value={text} onChange={({ target }) => take(target.value)} />}
    </Field>
  )
}
