package causeway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"causeway"
	"causeway/changes"
	"causeway/cpid"
	"causeway/internal/told"
)

const (
	first  = "00000000-0000-4000-8000-000000000001"
	second = "00000000-0000-4000-8000-000000000002"
	third  = "00000000-0000-4000-8000-000000000003"
	cpidOf = "causeway.io/cpid"
	listOf = "causeway.io/ancestor-cpids"
)

// world is a cluster in memory, and what is told of it.
type world struct {
	*told.Changes
	trace  *causeway.Trace
	plain  client.Client
	traced client.Client
}

func newWorld(t *testing.T, calls interceptor.Funcs, objects ...client.Object) world {
	t.Helper()
	kept := &told.Changes{}
	plain := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithStatusSubresource(&appsv1.Deployment{}).WithReturnManagedFields().WithInterceptorFuncs(calls).Build()
	trace, err := causeway.New(scheme.Scheme, plain.RESTMapper(), causeway.Settings{
		Cluster: "mine", TracerProvider: kept.Tracers(), Settings: changes.Settings{LoggerProvider: kept.Loggers()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return world{kept, trace, plain, trace.Client(plain)}
}

// reconciled runs a reconcile once.
func (w world) reconciled(t *testing.T, do func(context.Context) error) error {
	t.Helper()
	_, err := w.trace.Reconciler("reconcile", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, do(ctx)
	})).Reconcile(t.Context(), reconcile.Request{})
	return err
}

func settings(name, cpid, ancestors string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u-settings"}}
	if cpid != "" {
		object.Annotations = map[string]string{cpidOf: cpid, listOf: ancestors}
	}
	return object
}

func get(t *testing.T, from client.Client, object client.Object) {
	t.Helper()
	if err := from.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWritesOfAReconcileMergeOnce(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, settings("a", first, third), settings("b", second, ""))
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a, b := settings("a", "", ""), settings("b", "", "")
		err := errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Get(ctx, client.ObjectKeyFromObject(b), b))
		for _, name := range []string{"c", "d"} {
			err = errors.Join(err, w.traced.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
		}
		return err
	}))
	c, d := &corev1.Secret{}, &corev1.Secret{}
	c.Namespace, c.Name, d.Namespace, d.Name = "default", "c", "default", "d"
	get(t, w.plain, c)
	get(t, w.plain, d)
	id := c.Annotations[cpidOf]
	if id == "" || d.Annotations[cpidOf] != id || c.Annotations[listOf] != strings.Join([]string{first, second, third}, ",") {
		t.Errorf("the two Secrets carry %v and %v", c.Annotations, d.Annotations)
	}
	if sent := w.Mergelogs(); len(sent) != 1 || sent[0].CPID != id || !slices.Equal(sent[0].Sources, []string{first, second}) ||
		sent[0].Object != "v1/secrets/default/c" {
		t.Errorf("the mergelogs are %v", sent)
	}
	writes := w.Spans("create v1/secrets")
	if len(writes) != 2 || writes[0].CPID != id || len(writes[0].Observed) != 2 ||
		!slices.Equal(writes[0].Wrote, []string{"v1/secrets/default/c?rv=1"}) {
		t.Errorf("the writes are %+v", writes)
	}
	if spans := w.Spans("reconcile"); len(spans) != 1 || spans[0].CPID != id {
		t.Errorf("the reconciles are %+v", spans)
	}
}

func TestAReconcileThatWroteNothingLeavesNothing(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, settings("a", first, ""))
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a := settings("a", "", "")
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a),
			w.traced.Create(ctx, settings("dry", "", ""), client.DryRunAll))
	}))
	if names := w.Names(); len(names) > 0 || len(w.Mergelogs()) > 0 {
		t.Errorf("%v and %v are told", names, w.Mergelogs())
	}
}

func TestARefusedWriteIsTriedAgainAsTheSameChange(t *testing.T) {
	refusals := 1
	w := newWorld(t, interceptor.Funcs{
		Update: func(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			if refusals--; refusals >= 0 {
				return apierrors.NewConflict(corev1.Resource("configmaps"), object.GetName(), errors.New("it was changed"))
			}
			return inner.Update(ctx, object, opts...)
		},
	}, settings("a", first, ""), settings("b", second, ""))
	var attempted []string
	reconciler := w.trace.Reconciler("reconcile", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		a, b := settings("a", "", ""), settings("b", "", "")
		if err := errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Get(ctx, client.ObjectKeyFromObject(b), b)); err != nil {
			return reconcile.Result{}, err
		}
		b.Data = map[string]string{"from": a.Name}
		err := w.traced.Update(ctx, b)
		attempted = append(attempted, b.Annotations[cpidOf])
		return reconcile.Result{}, err
	}))
	_, err := reconciler.Reconcile(t.Context(), reconcile.Request{})
	if !apierrors.IsConflict(err) || len(w.Mergelogs()) > 0 {
		t.Fatalf("the first try ends in %v, with mergelogs %v", err, w.Mergelogs())
	}
	if attempted[0] != second {
		t.Errorf("an object that was refused is left with %s", attempted[0])
	}
	_, err = reconciler.Reconcile(t.Context(), reconcile.Request{})
	must(t, err)
	if sent := w.Mergelogs(); len(sent) != 1 || sent[0].CPID != attempted[1] {
		t.Errorf("the mergelogs are %v, and the object carries %s", sent, attempted[1])
	}
	tries := w.Spans("update v1/configmaps")
	if len(tries) != 2 || !tries[0].IsFailed || tries[0].CPID != second || tries[1].IsFailed || tries[1].CPID != attempted[1] {
		t.Errorf("the tries are %+v", tries)
	}
}

func TestWhatIsRefusedForItsAnnotationsAloneIsWrittenAsItWas(t *testing.T) {
	sent := 0
	check := func(text any) error {
		sent++
		if strings.Contains(fmt.Sprint(text), cpidOf) {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "b", errors.New("annotation causeway.io/cpid is not allowed"))
		}
		return nil
	}
	w := newWorld(t, interceptor.Funcs{
		Update: func(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			if err := check(object.GetAnnotations()); err != nil {
				return err
			}
			return inner.Update(ctx, object, opts...)
		},
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			data, err := patch.Data(object)
			if err = errors.Join(err, check(string(data))); err != nil {
				return err
			}
			return inner.Patch(ctx, object, patch, opts...)
		},
		Apply: func(ctx context.Context, inner client.WithWatch, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			text, err := json.Marshal(configuration)
			if err = errors.Join(err, check(string(text))); err != nil {
				return err
			}
			return inner.Apply(ctx, configuration, opts...)
		},
	}, settings("a", first, ""), settings("b", "", ""), settings("c", "", ""))
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a, b, c := settings("a", "", ""), settings("b", "", ""), settings("c", "", "")
		get(t, w.plain, b)
		get(t, w.plain, c)
		before := c.DeepCopy()
		b.Data, c.Data = map[string]string{"key": "value"}, map[string]string{"key": "value"}
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Update(ctx, b),
			w.traced.Patch(ctx, c, client.MergeFrom(before)),
			w.traced.Apply(ctx, corev1ac.ConfigMap("d", "default").WithData(map[string]string{"key": "value"}),
				client.FieldOwner("test"), client.ForceOwnership))
	}))
	for _, name := range []string{"b", "c", "d"} {
		object := settings(name, "", "")
		get(t, w.plain, object)
		if object.Data["key"] != "value" || object.Annotations[cpidOf] != "" {
			t.Errorf("%s has %v and carries %v", name, object.Data, object.Annotations)
		}
	}
	for _, name := range []string{"update v1/configmaps", "patch v1/configmaps", "apply v1/configmaps"} {
		if spans := w.Spans(name); len(spans) != 1 || spans[0].IsFailed || spans[0].CPID != first {
			t.Errorf("%s is told as %+v", name, spans)
		}
	}
	if sent != 6 {
		t.Errorf("%d are sent", sent)
	}
}

func TestPatchesAndAppliesCarryTheChange(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, settings("a", first, ""), settings("b", "", ""), settings("c", "", ""))
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a, b, c := settings("a", "", ""), settings("b", "", ""), settings("c", "", "")
		get(t, w.plain, b)
		get(t, w.plain, c)
		before := b.DeepCopy()
		b.Data = map[string]string{"key": "value"}
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a),
			w.traced.Patch(ctx, b, client.MergeFrom(before)),
			w.traced.Patch(ctx, c, client.StrategicMergeFrom(c.DeepCopy())), // It changes nothing.
			w.traced.Apply(ctx, corev1ac.ConfigMap("d", "default").WithData(map[string]string{"key": "9007199254740993"}),
				client.FieldOwner("test"), client.ForceOwnership))
	}))
	for name, want := range map[string]string{"b": first, "c": "", "d": first} {
		object := settings(name, "", "")
		get(t, w.plain, object)
		if object.Annotations[cpidOf] != want {
			t.Errorf("%s carries %v", name, object.Annotations)
		}
	}
	want := []string{"patch v1/configmaps", "apply v1/configmaps", "reconcile"}
	if names := w.Names(); !slices.Equal(names, want) {
		t.Errorf("the spans are %v", names)
	}
}

func TestAStatusIsOfTheChangeThoughItCarriesNone(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u-web"}}
	w := newWorld(t, interceptor.Funcs{}, settings("a", first, ""), deployment)
	write := func(replicas int32) func(context.Context) error {
		return func(ctx context.Context) error {
			a, web := settings("a", "", ""), deployment.DeepCopy()
			err := errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Get(ctx, client.ObjectKeyFromObject(web), web))
			web.Status.Replicas = replicas
			return errors.Join(err, w.traced.Status().Update(ctx, web))
		}
	}
	must(t, w.reconciled(t, write(1)))
	must(t, w.reconciled(t, func(ctx context.Context) error {
		web := deployment.DeepCopy()
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(web), web), w.traced.Create(ctx, settings("from-status", "", "")))
	}))
	if spans := w.Spans("update apps/v1/deployments/status"); len(spans) != 1 || spans[0].CPID != first {
		t.Errorf("the writes of the status are %+v", spans)
	}
	made := settings("from-status", "", "")
	get(t, w.plain, made)
	if made.Annotations[cpidOf] != first {
		t.Errorf("what follows from the status carries %v", made.Annotations)
	}
}

func TestADeletionIsMarkedFirst(t *testing.T) {
	held := settings("held", "", "")
	held.Finalizers = []string{"example.com/held"}
	w := newWorld(t, interceptor.Funcs{}, settings("a", first, ""), held)
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a := settings("a", "", "")
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Delete(ctx, held))
	}))
	get(t, w.plain, held)
	if held.DeletionTimestamp == nil || held.Annotations[cpidOf] != first {
		t.Errorf("what waits for its finalizer carries %v", held.Annotations)
	}
	if spans := w.Spans("delete v1/configmaps"); len(spans) != 1 || spans[0].CPID != first || len(spans[0].Wrote) != 2 {
		t.Errorf("the deletions are %+v", spans)
	}
}

func TestAnAnswerWithTheVersionBeforeIsNoWrite(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return nil
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return nil
		},
	}, settings("a", first, ""))
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a := settings("a", "", "")
		err := w.traced.Get(ctx, client.ObjectKeyFromObject(a), a)
		before := a.DeepCopy()
		a.Data = map[string]string{"key": "value"}
		return errors.Join(err, w.traced.Patch(ctx, a, client.MergeFrom(before)))
	}))
	// The first apply makes a version, for all that is known; the second is answered the same.
	for range 2 {
		must(t, w.reconciled(t, func(ctx context.Context) error {
			return w.traced.Apply(ctx, corev1ac.ConfigMap("b", "default"), client.FieldOwner("test"))
		}))
	}
	if names := w.Names(); !slices.Equal(names, []string{"apply v1/configmaps", "reconcile"}) {
		t.Errorf("the spans are %v", names)
	}
}

func TestWhatWasReadBeforeAWriteThatChangedNothingStandsOnTheNext(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return nil
		},
	}, settings("a", first, ""), settings("b", first, ""))
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a, b := settings("a", "", ""), settings("b", "", "")
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Get(ctx, client.ObjectKeyFromObject(b), b),
			w.traced.Patch(ctx, b, client.RawPatch(types.MergePatchType, []byte(`{"data":null}`))),
			w.traced.Create(ctx, settings("c", "", "")))
	}))
	if writes := w.Spans(""); len(writes) != 2 || len(writes[0].Observed) != 2 {
		t.Errorf("the spans are %+v", writes)
	}
}

// Each writes whatever it finds, and neither's list has room for all that the other's change comes from.
func TestTwoWhoWriteForEachOtherComeToAnEnd(t *testing.T) {
	var objects []client.Object
	for i := range 24 {
		objects = append(objects, settings(fmt.Sprint("from", i), fmt.Sprintf("00000000-0000-4000-8000-%012x", i+1), ""))
	}
	objects = append(objects, settings("x", "", ""), settings("y", "", ""))
	for _, one := range objects {
		one.SetUID(types.UID(one.GetName()))
	}
	w := newWorld(t, interceptor.Funcs{}, objects...)
	reconciler := func(first int, reads, writes string) reconcile.Reconciler {
		return w.trace.Reconciler("reconcile", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			names := []string{reads}
			for i := range 12 {
				names = append(names, fmt.Sprint("from", first+i))
			}
			for _, name := range names {
				if err := w.traced.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &corev1.ConfigMap{}); err != nil {
					return reconcile.Result{}, err
				}
			}
			return reconcile.Result{}, w.traced.Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: writes}})
		}))
	}
	one, other := reconciler(0, "y", "x"), reconciler(12, "x", "y")
	for range 10 {
		for _, each := range []reconcile.Reconciler{one, other} {
			_, err := each.Reconcile(t.Context(), reconcile.Request{})
			must(t, err)
		}
	}
	if sent := w.Mergelogs(); len(sent) != 2 {
		t.Errorf("%d mergelogs are sent", len(sent))
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, one := range []changes.Settings{{MaxSources: 1}, {Keys: cpid.Keys{CPID: "a"}}, {Keys: cpid.Keys{CPID: "a", Ancestors: "a"}}} {
		if _, err := causeway.New(scheme.Scheme, nil, causeway.Settings{Settings: one}); err == nil {
			t.Errorf("%+v is taken", one)
		}
	}
}

// Somebody writes all the time: what is refused a thousand times is one change, told once, and leaves the object as it was.
func TestAStormOfConflictsIsOneChange(t *testing.T) {
	const storm = 1_000
	refusals := storm
	w := newWorld(t, interceptor.Funcs{
		Update: func(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			if refusals--; refusals >= 0 {
				return apierrors.NewConflict(corev1.Resource("configmaps"), object.GetName(), errors.New("it was changed"))
			}
			return inner.Update(ctx, object, opts...)
		},
	}, settings("a", first, ""), settings("b", second, ""))
	reconciler := w.trace.Reconciler("reconcile", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		a, b := settings("a", "", ""), settings("b", "", "")
		if err := errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Get(ctx, client.ObjectKeyFromObject(b), b)); err != nil {
			return reconcile.Result{}, err
		}
		b.Data = map[string]string{"from": a.Name}
		return reconcile.Result{}, w.traced.Update(ctx, b)
	}))
	for range storm {
		if _, err := reconciler.Reconcile(t.Context(), reconcile.Request{}); !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
	_, err := reconciler.Reconcile(t.Context(), reconcile.Request{})
	must(t, err)
	b := settings("b", "", "")
	get(t, w.plain, b)
	if sent := w.Mergelogs(); len(sent) != 1 || sent[0].CPID != b.Annotations[cpidOf] {
		t.Errorf("%d mergelogs are sent", len(sent))
	}
}
