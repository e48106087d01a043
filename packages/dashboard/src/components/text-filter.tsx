import { type ComponentProps, useId } from 'react'
import { useTypedFilter } from '../lib/typed-filter.ts'
import { Field, Input } from './field.tsx'

/** A filter that is typed; it holds with Enter, or when the field is left. */
export function TextFilter({
  label,
  value,
  set,
  suggestions = [],
  ...rest
}: {
  label: string
  value: string | undefined
  set: (value: string | undefined) => void
  suggestions?: readonly string[]
} & Omit<ComponentProps<typeof Input>, 'value'>) {
  const list = useId()
  const { text, write, send } = useTypedFilter(value, set)
  return (
    <Field label={label}>
      {(ids) => (
        <>
          <Input
            {...ids}
            value={text}
            maxLength={200}
            {...(suggestions.length > 0 && { list })}
            onChange={({ target }) => write(target.value)}
            onBlur={send}
            onKeyDown={({ key }) => key === 'Enter' && send()}
            {...rest}
          />
          {suggestions.length > 0 && (
            <datalist id={list}>
              {suggestions.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}
