package webapp

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler reconciles WebApps.
type Reconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("webapp").For(&WebApp{}).
		Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Complete(r)
}

// Reconcile creates or updates Deployment and Service, and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	labels := map[string]string{"app": app.Name}
	named := metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}
	deployment := &appsv1.Deployment{ObjectMeta: named}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		deployment.Labels = labels
		deployment.Spec.Replicas = &app.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = app.Spec.Image
		return controllerutil.SetControllerReference(app, deployment, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	service := &corev1.Service{ObjectMeta: named}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Labels, service.Spec.Selector = labels, labels
		if len(service.Spec.Ports) == 0 {
			service.Spec.Ports = []corev1.ServicePort{{}}
		}
		service.Spec.Ports[0].Port = app.Spec.Port
		return controllerutil.SetControllerReference(app, service, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	status := Status{ObservedGeneration: app.Generation, ReadyReplicas: deployment.Status.ReadyReplicas}
	if status == app.Status {
		return ctrl.Result{}, nil
	}
	app.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, app)
}
