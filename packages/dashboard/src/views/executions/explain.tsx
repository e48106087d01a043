import type { Explanation } from '@carillon/contract'
import type { UseQueryResult } from '@tanstack/react-query'
import { Answer } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'

/** Why it is not running, in the node's words. */
export function Explain({ explanation }: { explanation: UseQueryResult<Explanation> }) {
  return (
    <Panel title="What it is doing">
      <Answer of={explanation}>
        {({ reasons }) => (
          <ul className="space-y-1.5 px-4 py-3">
            {reasons.map(({ code, message, hint }) => (
              <li key={code}>
                <p className="break-words first-letter:uppercase">
                  <Clocked text={message} />.
                </p>
                {hint !== undefined && <p className="break-words text-soft first-letter:uppercase">{hint}.</p>}
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Panel>
  )
}

const instant = /(\d{4}-\d\d-\d\dT[\d:.]+Z)/

/** The node writes instants; a person reads the clock on the wall. */
function Clocked({ text }: { text: string }) {
  return text.split(instant).map((part, i) => (i % 2 === 1 ? <Time key={part} at={part} exact /> : part))
}
