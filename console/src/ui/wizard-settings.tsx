// The settings of a new connection: its name, its address if it is not the provider's, and the provider's
// configuration.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, fieldErrors, fieldErrorWithin } from '../api.ts'
import { CONNECTION_FIELDS } from '../lib/definition-fields.generated.ts'
import { formatJson } from '../lib/json-text.ts'
import type { ProviderDetail } from '../types.ts'
import { ProblemNote } from './actions.tsx'
import { Button, Field } from './controls.tsx'
import { DeclaredFields, documentOf, type TypedFields } from './declared-fields.tsx'
import { InputForm, useInput } from './input-form.tsx'
import { Dialog } from './surfaces.tsx'

/** Drawn with care, known already, or changed elsewhere. */
const DRAWN = ['description', 'environment', 'credential', 'status']
const OTHER_FIELDS = CONNECTION_FIELDS.filter(({ name }) => !DRAWN.includes(name))

interface SettingsStepProps {
  readonly head: ReactNode
  readonly provider: ProviderDetail
  readonly credential: string | null
  readonly onNext: (connection: string) => void
  readonly onBack: () => void
  readonly onClose: () => void
}

export function SettingsStep({ head, provider, credential, onNext, onBack, onClose }: SettingsStepProps) {
  const client = useQueryClient()
  const [name, setName] = useState(credential ?? provider.name)
  const [description, setDescription] = useState('')
  const [address, setAddress] = useState('')
  const [others, setOthers] = useState<TypedFields>({})
  const { typed, form } = useInput(provider.config ?? null)
  const save = useMutation({
    mutationFn: () =>
      api.putConnection({
        ...documentOf(others),
        name: name.trim(),
        provider: provider.name,
        ...(credential !== null && { credential }),
        ...(description.trim() !== '' && { description: description.trim() }),
        ...('node' in typed && { config: JSON.parse(formatJson(typed.node)) }),
        ...(address.trim() !== '' && { endpoints: { default: address.trim() } }),
      }),
    onSuccess: ({ item }) => onNext(item.name),
    onSettled: () => client.invalidateQueries({ queryKey: ['connections'] }),
  })
  const configError = fieldErrorWithin(save.error, 'config')
  const isTold =
    fieldErrors(save.error).length > 0 &&
    ['name', 'endpoints', 'config', ...OTHER_FIELDS.map(({ name }) => name)].some(
      (field) => fieldErrorWithin(save.error, field) !== undefined,
    )
  return (
    <Dialog
      title={`New connection to ${provider.title}`}
      onClose={onClose}
      onSubmit={() => 'node' in typed && save.mutate()}
      isWide
      foot={
        <>
          <Button onClick={onBack}>Back</Button>
          <Button type="submit" variant="primary" isBusy={save.isPending}>
            Create and test
          </Button>
        </>
      }
    >
      {head}
      <Field
        label="Name"
        hint="As routes and workflows name it; the same in every environment."
        error={fieldErrorWithin(save.error, 'name')}
      >
        {(field) => (
          <input
            {...field}
            className="input mono"
            spellCheck={false}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Description (optional)">
        {(field) => (
          <input
            {...field}
            className="input"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        )}
      </Field>
      {provider.config != null && <InputForm {...form} />}
      {configError !== undefined && (
        <p className="field__error" role="alert">
          {configError}
        </p>
      )}
      <Field
        label="Address (optional)"
        hint={`Left open: ${provider.baseUrl}`}
        error={fieldErrorWithin(save.error, 'endpoints')}
      >
        {(field) => (
          <input
            {...field}
            className="input mono"
            spellCheck={false}
            placeholder="https://…"
            value={address}
            onChange={(event) => setAddress(event.target.value)}
          />
        )}
      </Field>
      <div className="pair">
        <DeclaredFields
          fields={OTHER_FIELDS}
          values={others}
          onChange={setOthers}
          errorOf={(field) => fieldErrorWithin(save.error, field)}
        />
      </div>
      {save.error !== null && !isTold && <ProblemNote error={save.error} />}
    </Dialog>
  )
}
