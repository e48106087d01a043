/** The same definition as YAML. What can be read is in the form at once; what cannot is said. */
import { useState } from 'react'
import { Loading } from '../../components/answer.tsx'
import { Field, TextArea } from '../../components/field.tsx'
import type { Definition } from './definition.ts'
import { useEditing } from './form-fields.tsx'
import { useYaml, yamlText } from './use-yaml.ts'

type Yaml = NonNullable<ReturnType<typeof useYaml>>

export function YamlTab() {
  const yaml = useYaml()
  return yaml === null ? <Loading /> : <Written yaml={yaml} />
}

function Written({ yaml }: { yaml: Yaml }) {
  const { definition, change, broken, problems } = useEditing()
  const [text, setText] = useState(() => yamlText(yaml, definition))
  const [wrong, setWrong] = useState<string>()
  const take = (typed: string) => {
    setText(typed)
    const read = definitionIn(yaml, typed)
    const problem = typeof read === 'string' ? read : undefined
    if (typeof read !== 'string') change(read)
    setWrong(problem)
    broken('', problem)
  }
  const said = Array.from(problems, ([pointer, message]) => `${pointer} ${message}`).join('\n')
  return (
    <div className="p-4">
      <Field
        label="Definition as YAML"
        about="Fields that are left out have their defaults. It is what carillon apply takes for one job."
        problem={wrong ?? (said === '' ? undefined : said)}
      >
        {(ids) => (
          <TextArea
            {...ids}
            rows={Math.min(40, Math.max(18, text.split('\n').length + 1))}
            className="whitespace-pre"
            value={text}
            onChange={({ target }) => take(target.value)}
          />
        )}
      </Field>
    </div>
  )
}

/** Or what is wrong with it. */
function definitionIn(yaml: Yaml, text: string): Definition | string {
  try {
    const read: unknown = yaml.parse(text)
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read as Definition
    return 'A definition has fields, such as type: CRON'
  } catch (error) {
    return `This is not YAML: ${(error as Error).message.split('\n')[0]}`
  }
}
