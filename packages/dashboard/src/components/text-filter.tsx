import { type ComponentProps, useId, useState } from 'react'
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
  const [text, write] = useState(value ?? '')
  const [known, know] = useState(value)
  // What the address says comes back into the field.
  if (known !== value) {
    know(value)
    write(value ?? '')
  }
  const take = () => {
    const trimmed = text.trim()
    if (trimmed !== (value ?? '')) set(trimmed === '' ? undefined : trimmed)
  }
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
            onBlur={take}
            onKeyDown={({ key }) => key === 'Enter' && take()}
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
