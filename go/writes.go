package causeway

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"causeway/changes"
	"causeway/cpid"
)

// write is a write to be sent.
type write struct {
	verb, subresource string
	target            cpid.Reference // the version before the write, if known
	own               []seen         // the overwritten version, if known
}

var methods = map[string]string{"create": "POST", "update": "PUT", "patch": "PATCH", "apply": "PATCH", "delete": "DELETE"}

// name is the span name: "update apps/v1/deployments/status".
func (w write) name() string {
	name := w.verb + " " + w.target.APIVersion + "/" + w.target.Resource
	if w.subresource != "" {
		name += "/" + w.subresource
	}
	return name
}

// accepted is the result of an accepted write: the versions that it made. isNothing: it made none.
type accepted struct {
	wrote     []cpid.Reference
	isNothing bool
}

// send sends a write in a span of its change. Writes of a reconcile with the same causes belong to one change; outside of a reconcile a
// write follows from the change of ctx and from what it overwrites.
func (t *Trace) send(ctx context.Context, w write, do func(context.Context, cpid.Context) (accepted, error)) error {
	going := workIn(ctx)
	causes, use := t.causesOf(ctx, going, w)
	decide := func() cpid.Context {
		return t.changes.Plan(causes, changes.Detail{Object: w.target, Reason: w.name()})
	}
	var planned *plan
	if going != nil {
		planned = going.planned(causes, decide)
	} else {
		planned = &plan{change: decide()}
	}
	change, before := planned.change, cpid.FromContext(ctx)
	if before.IsZero() && len(causes) > 0 {
		before = causes[len(causes)-1]
	}
	ctx, span := t.tracer().Start(cpid.NewContext(ctx, change), w.name(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(changeAttributes(change), attribute.String("http.request.method", methods[w.verb]))...))
	var noted []string
	if going != nil {
		noted = going.noteReads(span)
	}
	use()
	answer, err := do(ctx, change)
	if err != nil {
		if !t.changes.IsUntold(change) {
			before = change
		}
		// The change itself is never reported, since nothing of it was written.
		tellFailure(span, err, before)
		span.End()
		return err
	}
	if answer.isNothing { // A write that changed nothing leaves no span.
		if going != nil {
			going.noteAgain(noted)
		}
		return nil
	}
	t.changes.Accepted(ctx, change)
	if going != nil {
		going.wrote(planned)
	}
	span.SetAttributes(attribute.StringSlice(attributeWrote, textsOf(answer.wrote)))
	span.End()
	return nil
}

func (t *Trace) causesOf(ctx context.Context, going *work, w write) (causes []cpid.Context, use func()) {
	var own []cause
	for _, one := range w.own {
		own = append(own, t.known.of(one))
	}
	if going != nil {
		for _, one := range own {
			going.follow(one)
		}
		return going.follows(), going.useCauses
	}
	if active := cpid.FromContext(ctx); !active.IsZero() {
		causes = append(causes, active)
	}
	for _, one := range own {
		if !one.IsZero() {
			causes = append(causes, one.Context)
		}
	}
	return causes, func() {
		for _, one := range own {
			one.use()
		}
	}
}

// wrote remembers the change of a version, which its annotations may lack.
func (t *Trace) wrote(r cpid.Reference, change cpid.Context) {
	t.known.noteVersion(r, cause{Context: change})
}

// isForAnnotations reports whether a write was refused because of the change's annotations, and may be sent without: the refusal names one
// of them, or all annotations together if too long.
func (t *Trace) isForAnnotations(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	answer, keys := status.Status(), t.changes.Keys()
	isRefused := answer.Code >= 400 && answer.Code < 500
	return isRefused && slices.ContainsFunc([]string{keys.CPID, keys.Ancestors, "metadata.annotations"}, func(named string) bool {
		return strings.Contains(answer.Message, named)
	})
}

func textsOf(references []cpid.Reference) []string {
	texts := make([]string, 0, len(references))
	for _, one := range references {
		if text := one.String(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// tellFailure records a failure on a span. error.type follows the HTTP semantic conventions: the status, if there is one.
func tellFailure(span trace.Span, err error, change cpid.Context) {
	if !change.IsZero() {
		span.SetAttributes(attribute.String(attributeCPID, change.CPID), attribute.StringSlice(attributeAncestors, change.Ancestors))
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		span.SetAttributes(attribute.String("error.type", "_OTHER"))
		span.SetStatus(codes.Error, errorLine(err))
		return
	}
	answer := status.Status()
	span.SetAttributes(attribute.String("error.type", strconv.Itoa(int(answer.Code))),
		attribute.Int("http.response.status_code", int(answer.Code)))
	span.SetStatus(codes.Error, refusalIn(answer))
}

// refusalIn is the reason of a refusal. For an invalid object it names only the fields, since the message contains values.
func refusalIn(answer metav1.Status) string {
	if answer.Reason != metav1.StatusReasonInvalid {
		return firstLine(answer.Message)
	}
	var fields []string
	if answer.Details != nil {
		for _, one := range answer.Details.Causes {
			if one.Field != "" {
				fields = append(fields, one.Field)
			}
		}
	}
	if len(fields) == 0 {
		return "the object is invalid"
	}
	return firstLine("the object is invalid: " + strings.Join(fields, ", "))
}

func errorLine(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonInvalid {
		return refusalIn(status.Status())
	}
	return firstLine(err.Error())
}

// Longer error texts mostly contain the whole answer.
const longestText = 256

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), longestText)], "")
}
