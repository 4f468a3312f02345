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

// write is one that is to be sent.
type write struct {
	verb, subresource string
	target            cpid.Reference // as it was before, where that is known
	own               []seen         // what is overwritten, where that is known
}

var methods = map[string]string{"create": "POST", "update": "PUT", "patch": "PATCH", "apply": "PATCH", "delete": "DELETE"}

// name is as in "update apps/v1/deployments/status".
func (w write) name() string {
	name := w.verb + " " + w.target.APIVersion + "/" + w.target.Resource
	if w.subresource != "" {
		name += "/" + w.subresource
	}
	return name
}

// accepted is what the API server answered to a write: the versions that it made. isNothing says that it made none.
type accepted struct {
	wrote     []cpid.Reference
	isNothing bool
}

// send sends a write inside a span of the change that it is for. Writes of a reconcile that follow from the same things are of one
// change; outside of a reconcile a write follows from the change of ctx, and from what it overwrites.
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
		// Nobody hears of a change of which nothing was written.
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

// wrote notes what a version is of, which its annotations may not say.
func (t *Trace) wrote(r cpid.Reference, change cpid.Context) {
	t.known.noteVersion(r, cause{Context: change})
}

// isForAnnotations says whether a write was refused for the change that it carries, and may be made without: the refusal names one of the two
// annotations, or all together, which may be too long.
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

// tellFailure tells error.type as the semantic conventions of HTTP have it: the status where there is one.
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

// refusalIn tells by its place what was wrong with an object, since the values stand beside it in the message.
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

// Longer texts of errors hold the answer they came from.
const longestText = 256

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), longestText)], "")
}
