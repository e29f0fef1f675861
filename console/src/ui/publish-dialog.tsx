// "Send a test event": a subject of the catalog, its example in an editor, and what will happen with it.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { fieldErrors, problemOf, publishEvent } from '../api.ts'
import { checkJson, formatJson, type JsonNode, parseJsonText } from '../lib/json-text.ts'
import { useCatalog, useCatalogSubject } from '../queries.ts'
import { Button, Field } from './controls.tsx'
import { Dialog, Note } from './surfaces.tsx'
import { toastDone } from './toast.tsx'

interface PublishDialogProps {
  readonly source: string
  readonly subject?: string
  /** A schedule has no sender: what is published here stands for a slot of it. */
  readonly isSchedule?: boolean
  /** Its events come from NATS. */
  readonly isInlet?: boolean
  readonly onClose: () => void
}

const SUBJECTS_MAX = 200
const EMPTY = '{}'

export function PublishDialog({
  source,
  subject: given,
  isSchedule = false,
  isInlet = false,
  onClose,
}: PublishDialogProps) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const { data: catalog } = useCatalog({ source, limit: SUBJECTS_MAX })
  // By default, one that a route matches: something happens with it.
  const { data: wanted } = useCatalog({ source, wanted: true, limit: SUBJECTS_MAX })
  const [subject, setSubject] = useState(given ?? '')
  const [text, setText] = useState(EMPTY)
  const [isTouched, setIsTouched] = useState(false)
  const [isChosen, setIsChosen] = useState(false)
  const [isAsked, setIsAsked] = useState(false)
  const names = useMemo(
    () => [...new Set([...(wanted?.items ?? []), ...(catalog?.items ?? [])].map((item) => item.subject))],
    [catalog, wanted],
  )
  const { data: entry } = useCatalogSubject(names.includes(subject) ? subject : null)
  const [id] = useState(() => `test-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`)
  useEffect(() => {
    if (given !== undefined || isChosen || catalog === undefined || wanted === undefined) return
    const all = [...wanted.items, ...catalog.items]
    const first = all.find(({ example }) => example !== undefined) ?? all[0]
    if (first !== undefined) setSubject(first.subject)
  }, [catalog, wanted, given, isChosen])
  useEffect(() => {
    if (entry === undefined || isTouched) return
    setText(entry.example === undefined ? EMPTY : formatJson(parseJsonText(JSON.stringify(entry.example))))
  }, [entry, isTouched])
  const checked = useMemo(() => checkJson(text), [text])
  const isPattern = /(^|\.)[*>]/.test(subject)
  const publish = useMutation({
    mutationFn: (data: JsonNode) => publishEvent({ id, source, subject, data }),
    onSuccess: ({ eventId }) => {
      toastDone('The event is accepted')
      onClose()
      go(`/events/${eventId}`)
    },
    onSettled: () => client.invalidateQueries(),
  })
  const problem = publish.error === null ? null : problemOf(publish.error)
  const fields = fieldErrors(publish.error)
  const subjectError =
    isAsked && subject.trim() === ''
      ? 'Choose a subject, or write one.'
      : isAsked && isPattern
        ? 'Put a word in the place of * or >.'
        : fields.find(({ path }) => /type|subject/.test(path))?.message
  const dataError = 'message' in checked ? checked.message : undefined
  const submit = () => {
    setIsAsked(true)
    if ('node' in checked && subject.trim() !== '' && !isPattern) publish.mutate(checked.node)
  }
  return (
    <Dialog
      title="Send a test event"
      onClose={onClose}
      onSubmit={submit}
      isWide
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            variant="primary"
            icon={<Send size={14} aria-hidden />}
            isBusy={publish.isPending}
            disabled={'message' in checked}
          >
            Send
          </Button>
        </>
      }
    >
      <div className="muted">
        It is published in your name, and the deployed routes process it: <strong>calls are real.</strong>{' '}
        {isSchedule ? (
          <>The next slot of {source} comes as it would have anyway.</>
        ) : isInlet ? (
          <>The naming of {source} is not part of it: publish on NATS to see that too.</>
        ) : (
          <>
            Signature and naming of {source} are not part of it; <code>npx millrace send {source}</code> goes
            through those too.
          </>
        )}
      </div>
      <Field label="Subject" error={subjectError} hint={entry?.description ?? undefined}>
        {(field) => (
          <>
            <input
              {...field}
              className="input mono"
              list={`${field.id}-subjects`}
              value={subject}
              spellCheck={false}
              autoComplete="off"
              autoFocus
              onChange={(event) => {
                setIsChosen(true)
                setSubject(event.target.value)
              }}
            />
            <datalist id={`${field.id}-subjects`}>
              {names.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field
        label="Data"
        error={dataError}
        hint={
          isTouched || entry?.example === undefined
            ? 'Any JSON.'
            : 'The example of the catalog; change what you like.'
        }
      >
        {(field) => (
          <textarea
            {...field}
            className="input editor"
            rows={12}
            value={text}
            spellCheck={false}
            onChange={(event) => {
              setIsTouched(true)
              setText(event.target.value)
            }}
          />
        )}
      </Field>
      {problem !== null && subjectError === undefined && (
        <Note tone="red">
          <strong>{problem.title}.</strong> {problem.detail} {problem.next}
        </Note>
      )}
    </Dialog>
  )
}
