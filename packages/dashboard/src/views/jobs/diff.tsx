/** What changed between two definitions, by lines of YAML: by sign and colour. */
import type { Job, JobVersion } from '@carillon/contract'
import { Loading } from '../../components/answer.tsx'
import { definitionOf } from './definition.ts'
import { hunksOf, type Line, lineDiff } from './line-diff.ts'
import { useYaml, yamlText } from './use-yaml.ts'

type Defined = Job | JobVersion['definition']

const tones: Record<Line['sign'], string> = { '+': 'text-good', '-': 'text-bad', ' ': 'text-soft' }
const words: Record<Line['sign'], string> = { '+': 'added: ', '-': 'removed: ', ' ': '' }

export function Diff({ before, after }: { before: Defined; after: Defined }) {
  const yaml = useYaml()
  if (yaml === null) return <Loading />
  const hunks = hunksOf(lineDiff(yamlText(yaml, definitionOf(before)), yamlText(yaml, definitionOf(after))))
  if (hunks.length === 0) return <p className="text-soft">The definition is the same.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre tabIndex={0} className="max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-[13px] text-ink">
      {hunks.map(({ skipped, lines }, at) => (
        <span key={at}>
          {skipped > 0 && <span className="text-soft">{`  … ${skipped} more\n`}</span>}
          {lines.map(({ sign, text }, line) => (
            <span key={line} className={tones[sign]}>
              <span className="sr-only">{words[sign]}</span>
              {`${sign} ${text}\n`}
            </span>
          ))}
        </span>
      ))}
    </pre>
  )
}
